/** Records what clients requested and the responses they got, line by line in a file for the checks after the run. */
import { appendFileSync, existsSync, readFileSync } from 'node:fs'

export type Entry =
  | { kind: 'ask'; at: number; key: string; method: string; path: string; body: object | null }
  | { kind: 'answer'; at: number; key: string; status: number; body: unknown }
  /** The connection ended without a response. */
  | { kind: 'cut'; at: number; key: string }
  /** An external client moved a branch of the repository. */
  | { kind: 'pushed'; at: number; project: string; ref: string; sha: string; file: string }
  | { kind: 'harm'; at: number; harm: string; recoveryMs: number }
  | { kind: 'life'; at: number; failpoints: string; readyMs: number | null; end: string }

type WithoutTime<T> = T extends unknown ? Omit<T, 'at'> : never

export class History {
  readonly path: string
  /** What it records; everything, unless a long run keeps only what it looks at. */
  keeps: (entry: WithoutTime<Entry>) => boolean = () => true

  constructor(path: string) {
    this.path = path
  }

  write(entry: WithoutTime<Entry>): void {
    if (this.keeps(entry)) appendFileSync(this.path, `${JSON.stringify({ at: Date.now(), ...entry })}\n`)
  }

  read(): Entry[] {
    if (!existsSync(this.path)) return []
    return readFileSync(this.path, 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Entry)
  }

  of<K extends Entry['kind']>(kind: K): Extract<Entry, { kind: K }>[] {
    return this.read().filter((entry): entry is Extract<Entry, { kind: K }> => entry.kind === kind)
  }
}
