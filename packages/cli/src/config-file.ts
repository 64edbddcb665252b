/** The client's own file: which host is active, which were added, and a token per origin. The server writes the same shape at its first start. */
import { constants } from 'node:fs'
import { link, mkdir, open, readFile, realpath, rename, stat, unlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Refusal } from './errors.ts'
import type { Io } from './io.ts'

export interface Config {
  /** Null until one is chosen: `selfhost` then. */
  active_host: string | null
  hosts: Record<string, { url: string }>
  /** By origin (`https://example.com`), so that a token can only go where it came from. */
  tokens: Record<string, { token: string }>
  /** The account that commands are about, by origin; without one it is the account the user started in. */
  accounts?: Record<string, string>
  /** The data folder of a server that was first started by this user, by origin. */
  data_dirs?: Record<string, string>
  /** Commands by the names this user gave them. */
  aliases?: Record<string, string>
}

const bytesMax = 1024 * 1024
const lockWaitMs = 15_000
/** Who holds the lock writes one small file; older than this, its holder is gone. */
const lockStaleMs = 10_000

export function configPath(io: Pick<Io, 'env'>): string {
  if (io.env.SVC_CONFIG_FILE) return io.env.SVC_CONFIG_FILE
  if (!io.env.HOME) throw new Refusal('config_broken', 'HOME is not set', { hint: 'Set HOME or SVC_CONFIG_FILE.' })
  return join(io.env.HOME, '.config', 'svc', 'config.json')
}

export async function readConfig(path: string): Promise<Config> {
  return shape(path, await readJson(path))
}

/** Reads, changes and replaces the file while no other client does. Keys this version does not know are kept. */
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
  // A file kept elsewhere by a link stays there.
  const target = await realpath(path).catch(() => path)
  await withLock(`${target}.lock`, async () => {
    const json = await readJson(target)
    const config = shape(target, json)
    change(config)
    await replaceFile(target, `${JSON.stringify({ ...json, ...config }, null, 2)}\n`)
  })
}

/** Whether anybody but the owner may read it. */
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
  try {
    const json: unknown = JSON.parse(text)
    if (isRecord(json)) return json
  } catch (error) {
    throw broken(path, 'it is not JSON', error)
  }
  throw broken(path, 'it is not a JSON object')
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
  return new Refusal('config_broken', `The configuration file cannot be used: ${why}`, {
    hint: `Mend or move ${path}, then run svc login.`,
    detail: { path },
    cause,
  })
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Never readable by others, not for a moment, and never half written: whoever reads sees the old file or the new one. */
async function replaceFile(path: string, text: string): Promise<void> {
  const temporary = `${path}.${crypto.randomUUID()}.tmp`
  const file = await open(temporary, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o600)
  try {
    await file.writeFile(text)
    await file.sync()
  } finally {
    await file.close()
  }
  try {
    await rename(temporary, path)
  } catch (error) {
    await unlink(temporary).catch(() => {})
    throw error
  }
  const folder = await open(dirname(path), constants.O_RDONLY)
  // The rename itself survives a power cut only once its folder is written.
  await folder.sync().catch(() => {})
  await folder.close()
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
      throw new Refusal('config_broken', 'Another svc holds the configuration file', {
        hint: `If none is running, remove ${path}.`,
      })
    await Bun.sleep(5 + Math.random() * 20)
  }
  try {
    await act()
  } finally {
    await unlink(path).catch(() => {})
  }
}

/** Moved aside before it is removed: of two that find it stale, one moves it and the other finds nothing. */
async function removeStale(path: string): Promise<void> {
  if (!(await isStale(path))) return
  const aside = `${path}.${crypto.randomUUID()}`
  try {
    await rename(path, aside)
  } catch {
    return
  }
  // Between the look and the move somebody may have taken the lock anew: theirs goes back.
  if (!(await isStale(aside))) await link(aside, path).catch(() => {})
  await unlink(aside).catch(() => {})
}

async function isStale(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => null)
  return found !== null && Date.now() - found.mtimeMs >= lockStaleMs
}
