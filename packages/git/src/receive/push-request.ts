import { PktError, PktReader, pkt } from '../formats/pkt-line.ts'
import { isSha, type RefUpdate } from '../repository.ts'
import { updatesMax } from './gate.ts'

export interface PushRequest {
  updates: RefUpdate[]
  capabilities: Set<string>
  /** The pusher's clone has only part of the history. */
  isShallow?: boolean
  /** Only the pack. */
  pack: AsyncIterable<Uint8Array>
}

/** Capabilities that are passed on to receive-pack. Side bands, options, and certificates are not among them. */
const known = new Set([
  'report-status',
  'report-status-v2',
  'side-band-64k',
  'quiet',
  'atomic',
  'ofs-delta',
  'delete-refs',
  'no-thin',
  'side-band',
])
const knownKeys = new Set(['agent', 'object-format', 'session-id'])
const lineBytesMax = 4096
/** One for each commit where the history of the pusher's clone ends. They are not kept. */
const shallowLinesMax = 100_000
const shallowLine = /^shallow (?:[0-9a-f]{40}|[0-9a-f]{64})\n?$/

/**
 * Reads the command list of a push before starting anything. A list that violates the protocol is refused with
 * PktError, so that two readers cannot interpret it differently. What a shallow clone lacks is not passed on: git then
 * checks the push like any other, and accepts it where the repository has the history.
 */
export async function readPushRequest(body: AsyncIterable<Uint8Array>): Promise<PushRequest> {
  const reader = new PktReader(body)
  const updates: RefUpdate[] = []
  let capabilities = new Set<string>()
  let shallowLines = 0
  for (;;) {
    const line = await reader.next()
    // With an empty list git asks whether it may push at all, before it sends something large.
    if (line === null && updates.length === 0) break
    if (line === null) throw new PktError('The command list of the push does not end.')
    if (line.kind === 'flush') break
    if (line.kind !== 'data') throw new PktError('The command list of the push contains an unexpected packet.')
    if (updates.length === 0 && shallowLine.test(line.bytes.toString('latin1'))) {
      if (++shallowLines > shallowLinesMax)
        throw new PktError('The history of the shallow clone ends at too many commits.')
      continue
    }
    if (updates.length > updatesMax) throw new PktError(`A push may update at most ${updatesMax} refs at once.`)
    const command = parseCommand(line.bytes, updates.length === 0)
    if (command.capabilities) capabilities = command.capabilities
    updates.push(command.update)
  }
  return { updates, capabilities, isShallow: shallowLines > 0, pack: reader.rest() }
}

function parseCommand(bytes: Buffer, first: boolean): { update: RefUpdate; capabilities: Set<string> | null } {
  if (bytes.length > lineBytesMax) throw new PktError('A command of the push is too long.')
  const text = bytes.toString('utf8')
  if (!Buffer.from(text).equals(bytes)) throw new PktError('A ref name of the push is not UTF-8.')
  const zero = text.indexOf('\0')
  if (zero !== -1 && !first) throw new PktError('Only the first command of a push may carry capabilities.')
  const command = (zero === -1 ? text : text.slice(0, zero)).replace(/\n$/, '')
  if (command.startsWith('push-cert')) throw new PktError('Pushing with a certificate is not supported.')
  const match = /^([0-9a-f]+) ([0-9a-f]+) ([^ \n\r\t]+)$/.exec(command)
  const [, oldSha = '', newSha = '', ref = ''] = match ?? []
  if (!match || !isSha(oldSha) || !isSha(newSha))
    throw new PktError('A command of the push is not `<old id> <new id> <ref>`.')
  return { update: { ref, oldSha, newSha }, capabilities: zero === -1 ? null : parseCapabilities(text.slice(zero + 1)) }
}

function parseCapabilities(text: string): Set<string> {
  if (text.includes('\0')) throw new PktError('The capabilities of the push contain a NUL character.')
  const words = text.replace(/\n$/, '').split(' ').filter(Boolean)
  const strange = words.find((word) => !known.has(word) && !knownKeys.has(word.split('=')[0] ?? ''))
  if (strange) throw new PktError(`The push requests ${JSON.stringify(strange.slice(0, 100))}, which was not offered.`)
  return new Set(words)
}

/** The same commands, written again, so that receive-pack reads exactly what the gate checked. */
export function writeCommandList(updates: RefUpdate[], capabilities: string[]): Buffer {
  const lines = updates.map(({ ref, oldSha, newSha }, index) =>
    pkt(`${oldSha} ${newSha} ${ref}${index === 0 ? `\0 ${capabilities.join(' ')}` : ''}`),
  )
  return Buffer.concat([...lines, Buffer.from('0000')])
}
