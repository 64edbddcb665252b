import { spawn } from 'node:child_process'
import { dirname } from 'node:path'
import { statusOfClass } from '@svc/contract/errors'
import { command } from '../../arguments/command.ts'
import type { Context } from '../../context.ts'
import { Refusal } from '../../errors.ts'
import { findInstalled, type Installed } from '../../install/installed.ts'
import { bold, green } from '../../terminal/output.ts'

const timeoutMs = 30_000
const scriptBytesMax = 256 * 1024

export const update = command({
  summary: 'Update the client from the server it was installed from',
  about: ["Runs that server's install script again, which verifies the checksum and keeps the link."],
  scope: 'nothing',
  examples: ['svc update', 'svc update --json'],
  async run(ctx) {
    const installed = await findInstalled(ctx.io)
    if (installed === null)
      throw new Refusal('not_available', 'The install script did not install this svc', {
        hint: `It runs from ${process.execPath}. Update it at its source, or install it with the script.`,
        next: ['curl -fsSL <server>/install | sh'],
      })
    const script = await fetchScript(installed.origin)
    await runScript(ctx, installed, script)
    const now = (await findInstalled(ctx.io))?.version ?? null
    const { out } = ctx
    const changed = now !== installed.version
    if (out.json) return out.document({ origin: installed.origin, before: installed.version, version: now, changed })
    if (changed) out.line(green('✓ '), 'Updated svc ', `${installed.version ?? 'unknown'} → `, bold(now ?? 'unknown'))
    else out.line(green('✓ '), `svc ${now ?? ''} is what ${installed.origin} has; it was installed again`)
  },
})

async function fetchScript(origin: string): Promise<string> {
  const url = `${origin}/install/install.sh`
  let response: Response
  try {
    // Send no token, and follow no redirect to another host.
    response = await fetch(url, { redirect: 'manual', signal: AbortSignal.timeout(timeoutMs) })
  } catch (cause) {
    throw new Refusal('unreachable', `${url} can't be reached`, {
      hint: 'Nothing changed. The client updates from the server it was installed from.',
      cause,
    })
  }
  const text = response.ok ? await response.text() : ''
  if (!response.ok || text.length > scriptBytesMax || !text.startsWith('#!/bin/sh'))
    throw new Refusal('bad_answer', `${url} is not an install script`, {
      hint:
        response.status === statusOfClass.not_found
          ? 'That server does not offer the client.'
          : `It answered with status ${response.status}. Nothing changed.`,
    })
  return text
}

/** Passes the script on stdin, so that no part of it is in a command line. */
async function runScript({ io, out }: Context, installed: Installed, script: string): Promise<void> {
  const env = {
    ...io.env,
    SVC_UPDATE: '1',
    ...(installed.shim === null ? {} : { SVC_BIN_DIR: dirname(installed.shim) }),
  }
  const child = spawn('/bin/sh', ['-s'], { env: env as NodeJS.ProcessEnv, stdio: ['pipe', 'ignore', 'pipe'] })
  let said = ''
  child.stderr.setEncoding('utf8')
  child.stderr.on('data', (text: string) => {
    said = (said + text).slice(-4096)
    for (const line of text.split('\n').filter(Boolean)) out.note(line)
  })
  const stop = () => child.kill('SIGTERM')
  io.signal.addEventListener('abort', stop, { once: true })
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', resolve)
  })
  child.stdin.on('error', () => {})
  child.stdin.end(script)
  const code = await ended.finally(() => io.signal.removeEventListener('abort', stop))
  io.signal.throwIfAborted()
  if (code !== 0)
    throw new Refusal('not_available', 'The update failed; the client is unchanged', {
      hint: said.trim().split('\n').at(-1) ?? '',
    })
}
