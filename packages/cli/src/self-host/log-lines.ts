/** Lines of the server's log, for people. */
import { parseJson } from '@svc/contract/json'
import { open, readFile } from 'node:fs/promises'
import { reasonIn } from './launch.ts'

export type Entry = Record<string, unknown>

export function parseLine(line: string): Entry | null {
  return line.startsWith('{') ? ((parseJson(line) as Entry | undefined) ?? null) : null
}

const levels: Record<number, string> = { 40: 'warning: ', 50: 'error: ', 60: 'fatal: ' }

export function readable({ level, time, msg, err, ...facts }: Entry): string {
  const clock = new Date(time as string).toTimeString().slice(0, 8)
  const shown = Object.entries(facts).map(
    ([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
  )
  const cause = (err as { message?: unknown } | undefined)?.message
  return [
    clock,
    `${levels[Number(level)] ?? ''}${String(msg ?? '')}`,
    ...shown,
    ...(cause === undefined ? [] : [`(${String(cause)})`]),
  ].join(' ')
}

/** The last lines that were written from this position on. */
export async function lastLines(path: string, { from, count }: { from: number; count: number }): Promise<string[]> {
  const written = await readFile(path).catch(() => Buffer.alloc(0))
  // A shorter file is a new one.
  const lines = written
    .subarray(written.length < from ? 0 : from)
    .toString()
    .split('\n')
    .filter((line) => line.trim() !== '')
  return lines.slice(-count).map((line) => {
    const entry = parseLine(line)
    return entry === null ? line : readable(entry)
  })
}

const tailBytes = 256 * 1024

/** Why the server last ended by itself, or did not start. Null when it has started since, or has no log. */
export async function lastFailure(path: string): Promise<string | null> {
  const log = await open(path, 'r').catch(noLog)
  if (log === null) return null
  try {
    const { size } = await log.stat()
    const { buffer, bytesRead } = await log.read(Buffer.alloc(tailBytes), 0, tailBytes, Math.max(0, size - tailBytes))
    const lines = buffer.subarray(0, bytesRead).toString().split('\n')
    const started = lines.findLastIndex((line) => line.startsWith('  Dashboard '))
    return reasonIn(lines.slice(started + 1).join('\n')) ?? null
  } finally {
    await log.close()
  }
}

/** No server was started here in the background. */
function noLog(): null {
  return null
}
