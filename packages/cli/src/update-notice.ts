/** Once a day, and only for a person: whether the active host has a newer client. Nothing waits for it. */
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { randomUUID } from 'node:crypto'
import { dirname, join } from 'node:path'
import { version as own } from './build-values.ts'
import type { Context } from './context.ts'
import { activeHostName, knownHosts } from './hosts.ts'

const dayMs = 86_400_000
/** What a command that is done may still wait for an answer that is under way. */
const lingerMs = 150
const answerBytesMax = 4096

/** Starts to ask, and answers with what says the notice once the command is done. */
export function watchForUpdate(ctx: Context): () => Promise<void> {
  const { env, stderr, stdout } = ctx.io
  const isPerson = stderr.isTTY && stdout.isTTY && !ctx.globals.json
  if (!isPerson || env.CI || env.SVC_SESSION_ID) return async () => {}
  const patience = new AbortController()
  const newest = newestVersion(ctx, AbortSignal.any([ctx.io.signal, patience.signal])).catch(nothingNew)
  return async () => {
    const timer = setTimeout(() => patience.abort(), lingerMs)
    const found = await newest
    clearTimeout(timer)
    if (found !== null && isNewer(found, own))
      ctx.out.note(`svc ${found} is there, this is ${own}: svc update brings it.`)
  }
}

/** No folder to note the day in, an answer that is none, or one that is too late: nobody is told. */
function nothingNew(): null {
  return null
}

async function newestVersion(ctx: Context, signal: AbortSignal): Promise<string | null> {
  const path = join(dirname(ctx.configPath()), 'update-check.json')
  const now = ctx.io.now()
  const last = await lastCheck(path)
  if (last !== null && last <= now && now - last < dayMs) return null
  const config = await ctx.config()
  const host = knownHosts(config, ctx.io.env).find(({ name }) => name === activeHostName(config))
  if (host?.base == null) return null
  // No token goes along: whether there is a newer version is all that is asked.
  const answer = await fetch(`${host.base}/v1/health`, { redirect: 'manual', signal }).catch((error: unknown) => {
    // A host that is away is asked again tomorrow; one that is slow, by the next command.
    if (signal.aborted) throw error
    return null
  })
  const text = answer === null ? '{}' : (await answer.text()).slice(0, answerBytesMax)
  await noteCheck(path, now)
  const { version } = JSON.parse(text) as { version?: unknown }
  return typeof version === 'string' && /^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version) ? version : null
}

async function lastCheck(path: string): Promise<number | null> {
  const text = await readFile(path, 'utf8').catch(() => null)
  if (text === null) return null
  const { checked_at: at } = JSON.parse(text) as { checked_at?: unknown }
  return typeof at === 'string' ? Date.parse(at) || null : null
}

async function noteCheck(path: string, now: number): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  const temporary = `${path}.${randomUUID()}.tmp`
  await writeFile(temporary, `${JSON.stringify({ checked_at: new Date(now).toISOString() })}\n`, { mode: 0o600 })
  await rename(temporary, path)
}

/** By numbers; a pre-release comes before its release. */
export function isNewer(candidate: string, than: string): boolean {
  return Bun.semver.order(candidate, than) > 0
}
