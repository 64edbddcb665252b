import { flushPkt, parsePkts, pkt } from '../formats/pkt-line.ts'
import type { RefUpdate } from '../repository.ts'

export interface PushReport {
  /** `ok`, or why the pack was refused. */
  unpack: string
  /** For each ref null on success, or the reason. */
  refs: Map<string, string | null>
  /** Lines that git shows to the pusher with `remote:` in front. */
  remarks: string[]
  /** The push unpacks to a file over its size limit. */
  isTooLarge?: boolean
}

export function refuseAll({ updates }: { updates: RefUpdate[] }, reason: string): PushReport {
  return { unpack: 'ok', refs: new Map(updates.map(({ ref }) => [ref, reason])), remarks: [reason] }
}

/** The reply to a push in the format its capabilities request. */
export function writeReport(report: PushReport, capabilities: Set<string>): Buffer {
  const lines = [pkt(`unpack ${oneLine(report.unpack)}\n`)]
  for (const [ref, reason] of report.refs)
    lines.push(pkt(reason === null ? `ok ${ref}\n` : `ng ${ref} ${oneLine(reason)}\n`))
  const wantsReport = capabilities.has('report-status') || capabilities.has('report-status-v2')
  const status = wantsReport ? Buffer.concat([...lines, flushPkt]) : Buffer.alloc(0)
  const bandMax = capabilities.has('side-band-64k') ? 65515 : capabilities.has('side-band') ? 995 : 0
  if (bandMax === 0) return status
  const remarks = report.remarks.map((remark) => `${oneLine(remark)}\n`).join('')
  return Buffer.concat([...inBand(2, Buffer.from(remarks), bandMax), ...inBand(1, status, bandMax), flushPkt])
}

/** An empty message, so that proxies do not close the idle connection. */
export function keepAlivePkt(): Buffer {
  return pkt(Buffer.from([2]))
}

/** A line that git shows to the pusher at once, with `remote:` in front. */
export function remarkPkt(line: string): Buffer {
  return pkt(Buffer.concat([Buffer.from([2]), Buffer.from(`${oneLine(line)}\n`)]))
}

function inBand(band: 1 | 2, bytes: Buffer, bandMax: number): Buffer[] {
  const parts: Buffer[] = []
  for (let at = 0; at < bytes.length; at += bandMax) {
    parts.push(pkt(Buffer.concat([Buffer.from([band]), bytes.subarray(at, at + bandMax)])))
  }
  return parts
}

/** receive-pack's report, without side band. */
export function readReport(bytes: Buffer): PushReport | null {
  const report: PushReport = { unpack: '', refs: new Map(), remarks: [] }
  for (const one of parsePkts(bytes)) {
    if (one.kind !== 'data') continue
    const line = one.bytes.toString('utf8').replace(/\n$/, '')
    const ng = /^ng (\S+) ([^]*)$/.exec(line)
    if (line.startsWith('unpack ')) report.unpack = line.slice('unpack '.length)
    else if (line.startsWith('ok ')) report.refs.set(line.slice('ok '.length), null)
    else if (ng) report.refs.set(ng[1] as string, ng[2] as string)
  }
  return report.unpack === '' ? null : report
}

function oneLine(text: string): string {
  return text
    .replaceAll(/[\x00-\x1f\x7f]+/g, ' ')
    .trim()
    .slice(0, 2000)
}
