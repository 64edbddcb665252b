/** Backups of released versions, each made once by a real server of that version. */
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { makeToken } from '../../packages/contract/src/schemas/token-format.ts'

export const fixtures = join(import.meta.dir, '../fixtures/releases')

/** Known to everybody: the fixtures have no secret of anyone. */
export const masterKey = `${Buffer.alloc(32, 7).toString('base64')}\n`

/** The one of the first owner, as well known. */
export const ownerToken = makeToken((count) => new Uint8Array(count).fill(7))

/** What the backup has, by the ids that its server made. */
export interface Facts {
  version: string
  project: string
  session: string
  /** Numbers of change requests. */
  merged: number
  open: number
  secret: string
  trigger: string
  /** A word of the transcript. */
  said: string
}

export const releaseNames = async (): Promise<string[]> => (await readdir(fixtures)).toSorted()

export async function factsOf(name: string): Promise<Facts> {
  return (await Bun.file(join(fixtures, name, 'facts.json')).json()) as Facts
}
