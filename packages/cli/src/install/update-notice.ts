/** Reports a newer client once a day, on a terminal only. No command waits for it. */
import { replacePrivateFile } from '../config/private-file.ts'
import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { version as own } from '../config/build-values.ts'
import type { Context } from '../context.ts'
import { activeHostName, knownHosts } from '../config/hosts.ts'

const dayMs = 86_400_000
/** How long a finished command may wait for a response in flight. */
const lingerMs = 150
const answerBytesMax = 4096

/** Starts the request, and returns a function that prints the notice when the command is done. */
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
      ctx.out.note(`svc ${found} is available; this is ${own}. Update with: svc update`)
  }
}

/** Without a folder to record the day, or without a valid response in time, it prints nothing. */
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
  // Send no token: the version is public.
  const answer = await fetch(`${host.base}/v1/health`, { redirect: 'manual', signal }).catch((error: unknown) => {
    // Ask an unavailable host again tomorrow, and a slow one at the next command.
    if (signal.aborted) throw error
    return null
  })
  const text = answer === null ? '{}' : (await answer.text()).slice(0, answerBytesMax)
  await replacePrivateFile(path, `${JSON.stringify({ checked_at: new Date(now).toISOString() })}\n`)
  const { version } = JSON.parse(text) as { version?: unknown }
  return typeof version === 'string' && /^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version) ? version : null
}

async function lastCheck(path: string): Promise<number | null> {
  const text = await readFile(path, 'utf8').catch(() => null)
  if (text === null) return null
  const { checked_at: at } = JSON.parse(text) as { checked_at?: unknown }
  return typeof at === 'string' ? Date.parse(at) || null : null
}

/** Compares by numbers; a pre-release comes before its release. */
export function isNewer(candidate: string, than: string): boolean {
  return Bun.semver.order(candidate, than) > 0
}
