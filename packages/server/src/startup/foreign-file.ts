/** Names the user whose file keeps this process out of a folder, as after a command that root ran there. */
import { existsSync, readFileSync, statSync } from 'node:fs'
import { basename, join, relative, resolve } from 'node:path'
import { ownerName } from '@svc/contract/folder-owner'
import { quote } from '@svc/contract/shell-words'

/** What to do about it. Null: no file below the folder, which is ours, belongs to another user. */
export function foreignFileHint(folder: string, error: unknown): string | null {
  const { path } = error as NodeJS.ErrnoException
  const own = process.getuid?.()
  if (path === undefined || own === undefined || !path.startsWith(`${folder}/`)) return null
  if (statSync(folder).uid !== own) return null
  let at = folder
  for (const name of relative(folder, path).split('/')) {
    at = join(at, name)
    if (!existsSync(at)) return null
    const { uid } = statSync(at)
    if (uid !== own)
      return `${at} belongs to ${ownerName({ uid, passwd: knownUsers() })}. Run: sudo chown -R ${own} ${quote(folder)}`
  }
  return null
}

/** How this program is called, as words for a shell; from source, Bun runs it. */
export function programWords(): string {
  if (!basename(process.execPath).startsWith('bun')) return quote(process.execPath)
  return [process.execPath, resolve(import.meta.dirname, '../../../svc/src/main.ts')].map(quote).join(' ')
}

/** Empty without the file, as in some images. */
export function knownUsers(): string {
  return existsSync('/etc/passwd') ? readFileSync('/etc/passwd', 'utf8') : ''
}
