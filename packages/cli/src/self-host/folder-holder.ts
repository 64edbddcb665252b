import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

/** The process that the server of a data folder wrote into its lock. Null: none did. */
export async function folderHolder(dataDir: string): Promise<number | null> {
  const text = await readFile(join(dataDir, 'server.lock'), 'utf8').catch(() => '')
  const pid = Number(/^([1-9]\d{0,9}) /.exec(text)?.[1] ?? Number.NaN)
  return Number.isInteger(pid) ? pid : null
}
