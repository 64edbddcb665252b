import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import pino, { type Logger } from 'pino'
import type { TestApp } from '../test-app.ts'

/** A value, and the encoded forms in which it could leak. */
export function shapesOf(value: string, username = 'x-access-token'): Buffer[] {
  const pair = `${username}:${value}`
  const texts = [value, Buffer.from(value).toString('base64'), Buffer.from(value).toString('hex')]
  texts.push(Buffer.from(pair).toString('base64'), encodeURIComponent(value), JSON.stringify(value).slice(1, -1))
  return [...new Set(texts)].map((text) => Buffer.from(text))
}

export function holds(bytes: Uint8Array | string, shapes: Buffer[]): boolean {
  const buffer = Buffer.from(bytes as string)
  return shapes.some((shape) => buffer.includes(shape))
}

export interface Sighting {
  where: 'cmdline' | 'environ'
  program: string
}

/** Every process on the machine with the value in its command line or environment. */
export function sightings(shapes: Buffer[]): Sighting[] {
  const found: Sighting[] = []
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    const read = (name: string) => {
      try {
        return readFileSync(`/proc/${pid}/${name}`)
      } catch {
        // It has ended, or belongs to another user.
        return Buffer.alloc(0)
      }
    }
    const program = read('comm').toString().trim()
    for (const where of ['cmdline', 'environ'] as const) if (holds(read(where), shapes)) found.push({ where, program })
  }
  return found
}

/** Files below a folder that contain the value. */
export function filesHolding(dir: string, shapes: Buffer[]): string[] {
  return readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => statSync(path).size < 50_000_000 && holds(readFileSync(path), shapes))
}

/** All rows of all tables, as the database writes them. */
export async function dumpDatabase(app: TestApp): Promise<string> {
  const { db } = app.deps
  const tables = await db.introspection.getTables()
  const dump: string[] = []
  for (const { name } of tables) {
    const rows = await db
      .selectFrom(name as never)
      .selectAll()
      .execute()
    for (const row of rows as Record<string, unknown>[])
      for (const value of Object.values(row))
        dump.push(
          Buffer.isBuffer(value) ? `${value.toString('latin1')} ${value.toString('hex')}` : JSON.stringify(value),
        )
  }
  return dump.join('\n')
}

/** A logger that keeps everything at every level. */
export function keepLog(): { log: Logger; text(): string } {
  const lines: string[] = []
  const sink = new Writable({
    write(chunk: Buffer, _encoding, done) {
      lines.push(chunk.toString())
      done()
    },
  })
  return { log: pino({ level: 'trace' }, sink), text: () => lines.join('') }
}
