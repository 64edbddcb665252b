/** A Bun macro: it runs as the program is built, or loaded from source, and its result takes the place of the call. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export interface Migration {
  version: number
  name: string
  sql: string
}

/** `0003_warm_sandboxes.sql` is version 3, 'warm sandboxes'. */
export function readMigrations(): Migration[] {
  const folder = join(import.meta.dir, 'migrations')
  return readdirSync(folder)
    .toSorted()
    .map((file) => {
      const [, version, name] = /^(\d{4})_(.+)\.sql$/.exec(file)!
      const sql = readFileSync(join(folder, file), 'utf8')
      return { version: Number(version), name: name!.replaceAll('_', ' '), sql }
    })
}
