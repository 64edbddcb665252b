/** What the install script left: `~/.svc`, the program in it and the link that leads to it. */
import { readFile, readlink } from 'node:fs/promises'
import { join } from 'node:path'
import { Refusal } from './errors.ts'
import type { Io } from './io.ts'

export interface Installed {
  home: string
  program: string
  /** The server it came from. */
  origin: string
  version: string | null
  /** The link on the PATH. */
  shim: string | null
}

export function svcHome(io: Pick<Io, 'env'>): string {
  if (!io.env.HOME) throw new Refusal('config_broken', 'HOME is not set')
  return join(io.env.HOME, '.svc')
}

/** Null when svc was not installed by the script: it runs from a repository, or in a sandbox. */
export async function findInstalled(io: Pick<Io, 'env'>): Promise<Installed | null> {
  const home = svcHome(io)
  const text = await readFile(join(home, 'install.json'), 'utf8').catch(() => null)
  if (text === null) return null
  let json: { origin?: unknown; version?: unknown; shim?: unknown }
  try {
    json = JSON.parse(text) as typeof json
  } catch (cause) {
    throw new Refusal('config_broken', `${join(home, 'install.json')} is not JSON`, {
      hint: 'Install again to mend it.',
      cause,
    })
  }
  const { origin, version, shim } = json
  if (typeof origin !== 'string' || !/^https?:\/\//.test(origin)) return null
  return {
    home,
    program: join(home, 'bin', 'svc'),
    origin,
    version: typeof version === 'string' ? version : null,
    shim: typeof shim === 'string' ? shim : null,
  }
}

/** Only a link of ours is ever removed: another program of that name is somebody's. */
export async function isOurLink(path: string, program: string): Promise<boolean> {
  return (await readlink(path).catch(() => null)) === program
}
