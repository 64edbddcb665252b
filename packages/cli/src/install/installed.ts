/** The installation: `~/.svc`, the program in it and the link to it. */
import { readdir, readFile, readlink } from 'node:fs/promises'
import { join } from 'node:path'
import { Refusal } from '../errors.ts'
import type { Io } from '../io.ts'

export interface Installed {
  home: string
  program: string
  origin: string
  version: string | null
  shim: string | null
  man: string | null
}

export function svcHome(io: Pick<Io, 'env'>): string {
  if (!io.env.HOME) throw new Refusal('config_broken', 'HOME is not set')
  return join(io.env.HOME, '.svc')
}

/** Null when the install script did not install svc, as in a repository or a sandbox. */
export async function findInstalled(io: Pick<Io, 'env'>): Promise<Installed | null> {
  const home = svcHome(io)
  const text = await readFile(join(home, 'install.json'), 'utf8').catch(() => null)
  if (text === null) return null
  let json: { origin?: unknown; version?: unknown; shim?: unknown; man?: unknown }
  try {
    json = JSON.parse(text) as typeof json
  } catch (cause) {
    throw new Refusal('config_broken', `${join(home, 'install.json')} is not JSON`, {
      hint: 'Install again to fix it.',
      cause,
    })
  }
  const { origin, version, shim, man } = json
  if (typeof origin !== 'string' || !/^https?:\/\//.test(origin)) return null
  return {
    home,
    program: join(home, 'bin', 'svc'),
    origin,
    version: typeof version === 'string' ? version : null,
    shim: typeof shim === 'string' ? shim : null,
    man: typeof man === 'string' && man !== '' ? man : null,
  }
}

/** Removes only our own link, never another program with that name. */
export async function isOurLink(path: string, program: string): Promise<boolean> {
  return (await readlink(path).catch(() => null)) === program
}

export function manualFolder(home: string): string {
  return join(home, 'share/man')
}

/** The links in this folder to the manual pages below `home`. */
export async function manualLinks(folder: string, home: string): Promise<string[]> {
  const names = await readdir(folder).catch(() => [])
  const pages = join(manualFolder(home), 'man1')
  const found: string[] = []
  for (const name of names.filter((each) => /^svc.*\.1$/.test(each)))
    if (await isOurLink(join(folder, name), join(pages, name))) found.push(join(folder, name))
  return found
}
