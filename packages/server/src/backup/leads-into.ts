/** Whether a place is inside a folder, also by a link. */
import { existsSync, realpathSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { isS3Address } from '@svc/contract/schemas/backup-address'

export function leadsInto(folder: string, place: string): boolean {
  if (isS3Address(place)) return false
  const [outer, inner] = [realPathOf(folder), realPathOf(resolve(place))]
  return inner === outer || inner.startsWith(`${outer}/`)
}

/** Also of a path that does not exist yet. */
function realPathOf(path: string): string {
  return existsSync(path) ? realpathSync(path) : join(realPathOf(dirname(path)), basename(path))
}
