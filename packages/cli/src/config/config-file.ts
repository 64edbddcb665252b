/** The client's configuration: the active host, added hosts, and a token per origin. The server writes the same format at its first start. */
import { isRecord, parseJson } from '@svc/contract/json'
import { alreadyRemoved, lockTakenMeanwhile } from '../ignore.ts'
import { replacePrivateFile } from './private-file.ts'
import { constants } from 'node:fs'
import { link, mkdir, open, readFile, realpath, rename, stat, unlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Refusal } from '../errors.ts'
import type { Io } from '../io.ts'

export interface Config {
  /** Null until the user chooses one, which means `selfhost`. */
  active_host: string | null
  hosts: Record<string, { url: string }>
  /** By origin (`https://example.com`), so that a token goes only to the server that issued it. */
  tokens: Record<string, { token: string }>
  /** The account that commands use, by origin; defaults to the user's first account. */
  accounts?: Record<string, string>
  /** The data folder of a server that this user started first, by origin. */
  data_dirs?: Record<string, string>
  aliases?: Record<string, string>
}

const bytesMax = 1024 * 1024
const lockWaitMs = 15_000
/** A lock is held for one small write, so the holder of an older one has died. */
const lockStaleMs = 10_000

export function configPath(io: Pick<Io, 'env'>): string {
  if (io.env.SVC_CONFIG_FILE) return io.env.SVC_CONFIG_FILE
  if (!io.env.HOME) throw new Refusal('config_broken', 'HOME is not set', { hint: 'Set HOME or SVC_CONFIG_FILE.' })
  return join(io.env.HOME, '.config', 'svc', 'config.json')
}

export async function readConfig(path: string): Promise<Config> {
  return shape(path, await readJson(path))
}

/** Reads, changes and replaces the file under a lock. Keeps keys that this version does not know. */
export async function changeConfig(path: string, change: (config: Config) => void): Promise<void> {
  try {
    await changeFile(path, change)
  } catch (error) {
    if (typeof (error as NodeJS.ErrnoException).code !== 'string' || error instanceof Refusal) throw error
    throw broken(path, (error as Error).message, error)
  }
}

async function changeFile(path: string, change: (config: Config) => void): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  // Follow a symlink, so that the file stays where the user keeps it.
  const target = await realpath(path).catch(() => path)
  await withLock(`${target}.lock`, async () => {
    const json = await readJson(target)
    const config = shape(target, json)
    change(config)
    await replacePrivateFile(target, `${JSON.stringify({ ...json, ...config }, null, 2)}\n`)
  })
}

export async function isOpenToOthers(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => null)
  return found !== null && (found.mode & 0o077) !== 0
}

async function readJson(path: string): Promise<Record<string, unknown>> {
  let text: string
  try {
    if ((await stat(path)).size > bytesMax) throw broken(path, 'it is larger than 1 MiB')
    text = await readFile(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {}
    if (error instanceof Refusal) throw error
    throw broken(path, (error as Error).message, error)
  }
  if (text.trim() === '') return {}
  const json = parseJson(text)
  if (json === undefined) throw broken(path, 'it is not JSON')
  if (!isRecord(json)) throw broken(path, 'it is not a JSON object')
  return json
}

function shape(path: string, json: Record<string, unknown>): Config {
  const config: Config = { active_host: null, hosts: {}, tokens: {} }
  if (typeof json.active_host === 'string') config.active_host = json.active_host
  for (const [name, host] of entries(path, json, 'hosts')) {
    if (!isRecord(host) || typeof host.url !== 'string') throw broken(path, `hosts.${name} has no url`)
    config.hosts[name] = { ...host, url: host.url }
  }
  for (const [origin, entry] of entries(path, json, 'tokens')) {
    if (!isRecord(entry) || typeof entry.token !== 'string') throw broken(path, `tokens of ${origin} has no token`)
    config.tokens[origin] = { ...entry, token: entry.token }
  }
  for (const [origin, account] of entries(path, json, 'accounts'))
    if (typeof account === 'string') (config.accounts ??= {})[origin] = account
  for (const [origin, folder] of entries(path, json, 'data_dirs'))
    if (typeof folder === 'string') (config.data_dirs ??= {})[origin] = folder
  for (const [name, expansion] of entries(path, json, 'aliases'))
    if (typeof expansion === 'string') (config.aliases ??= {})[name] = expansion
  return config
}

function entries(path: string, json: Record<string, unknown>, key: string): [string, unknown][] {
  const value = json[key] ?? {}
  if (!isRecord(value)) throw broken(path, `${key} is not an object`)
  return Object.entries(value)
}

function broken(path: string, why: string, cause?: unknown): Refusal {
  return new Refusal('config_broken', `The configuration file is unusable: ${why}`, {
    hint: `Fix or move ${path}, then run svc login.`,
    detail: { path },
    cause,
  })
}

async function withLock(path: string, act: () => Promise<void>): Promise<void> {
  const started = Date.now()
  for (;;) {
    try {
      await (await open(path, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o600)).close()
      break
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
    await removeStale(path)
    if (Date.now() - started > lockWaitMs)
      throw new Refusal('config_broken', 'Another svc has locked the configuration file', {
        hint: `If none is running, remove ${path}.`,
      })
    await Bun.sleep(5 + Math.random() * 20)
  }
  try {
    await act()
  } finally {
    await unlink(path).catch(alreadyRemoved)
  }
}

/** Moves the stale lock aside before removing it, so that only one of two clients takes it. */
async function removeStale(path: string): Promise<void> {
  if (!(await isStale(path))) return
  const aside = `${path}.${crypto.randomUUID()}`
  const isMine = await rename(path, aside).then(() => true, removedByAnother)
  if (!isMine) return
  // Another client may have taken the lock since the check: put it back.
  if (!(await isStale(aside))) await link(aside, path).catch(lockTakenMeanwhile)
  await unlink(aside).catch(alreadyRemoved)
}

/** Another client removed the stale lock first. */
function removedByAnother(): false {
  return false
}

async function isStale(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => null)
  return found !== null && Date.now() - found.mtimeMs >= lockStaleMs
}
