import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

export type ObjectFormat = 'sha1' | 'sha256'

/** The repository's object format: ids of 40 digits or 64. */
export async function objectFormat(gitDir: string): Promise<ObjectFormat> {
  const config = await readFile(join(gitDir, 'config'), 'utf8')
  return /^\s*objectformat\s*=\s*sha256\s*$/im.test(config) ? 'sha256' : 'sha1'
}
