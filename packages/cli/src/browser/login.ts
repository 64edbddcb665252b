/**
 * Login in the browser. This process keeps a verifier secret and opens the page; the page sends a code to the listener.
 * The code works once, for one minute, and only together with the verifier; a POST exchanges it for a token. No URL
 * contains a token.
 */
import { expiresSoon } from '../ignore.ts'
import { createHash, randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import { connect } from '../api.ts'
import { openBrowser } from './open.ts'
import type { Context } from '../context.ts'
import { Refusal } from '../errors.ts'
import { type ChosenHost, parseHostUrl } from '../config/hosts.ts'
import { listenForApproval } from './login-listener.ts'
import { bold, cyan } from '../terminal/output.ts'
import { safeJson } from '../terminal/safe.ts'

const waitMs = 10 * 60_000

export async function loginByBrowser(ctx: Context, host: ChosenHost, options: { open: boolean }): Promise<string> {
  const { io, out } = ctx
  // Fail before opening a page that does not exist.
  await connect(io, host, null).get('/v1/health')
  const verifier = randomBytes(32).toString('base64url')
  const challenge = createHash('sha256').update(verifier).digest('base64url')
  const state = randomBytes(24).toString('base64url')
  const dashboard = io.env.SVC_DASHBOARD_URL ? parseHostUrl(io.env.SVC_DASHBOARD_URL, 'SVC_DASHBOARD_URL') : host.base
  const name = tokenName(io)

  let token: string | null = null
  const patience = AbortSignal.timeout(waitMs)
  const listener = listenForApproval({
    page: `${dashboard}/authorize`,
    state,
    stdin: ctx.interactive ? io.stdin : null,
    signal: AbortSignal.any([io.signal, patience]),
    notACode: () => out.warn('This is not the code from the page.'),
    exchange: async (code) => {
      token = await exchange(ctx, host, { code, verifier, name })
    },
  })
  try {
    const query = new URLSearchParams({ port: String(listener.port), state, challenge, name })
    const url = `${dashboard}/authorize#${query.toString()}`
    await say(ctx, url, shortCode(challenge), options.open)
    await listener.approved
  } catch (error) {
    if (!patience.aborted || io.signal.aborted) throw error
    throw new Refusal('timed_out', `Timed out: no sign-in within ${waitMs / 60_000} minutes`, {
      next: [`svc login --host ${host.name}`, `svc login --host ${host.name} --token -`],
    })
  } finally {
    out.clearPassing()
    await listener.close()
  }
  return token!
}

export const tokenName = ({ env }: Pick<Context['io'], 'env'>) =>
  `${env.USER || env.LOGNAME || 'svc'}@${hostname()}`.slice(0, 100)

/** Must match packages/dashboard/src/pages/authorize. */
function shortCode(challenge: string): string {
  const letters = challenge.replace(/[^A-Za-z0-9]/g, '').toUpperCase()
  return `${letters.slice(0, 4)}-${letters.slice(4, 8)}`
}

async function say({ io, out, interactive }: Context, url: string, code: string, open: boolean): Promise<void> {
  if (out.json) return io.stderr.write(`${safeJson({ open: url, code })}\n`)
  out.progress('Open this page to sign in:')
  // The user may open this URL on another machine; the page then shows a code to paste here.
  out.progress('  ', cyan(interactive ? `${url}&elsewhere=1` : url))
  out.progress('It must show this code:   ', bold(code))
  const opened = open && interactive && (await openBrowser(io, url))
  if (interactive && !opened) out.note('If the browser is on another machine, paste the code from the page here.')
  out.passing(
    opened ? 'opened in the browser; waiting for you to confirm… (Ctrl-C cancels)' : 'waiting… (Ctrl-C cancels)',
  )
}

async function exchange(
  { io }: Context,
  host: ChosenHost,
  input: { code: string; verifier: string; name: string },
): Promise<string> {
  const { code, verifier, name } = input
  const passing = await connect(io, host, null).post('/v1/cli-logins/redeem', { body: { code, verifier } })
  const minted = await connect(io, host, passing.secret_key).post('/v1/accounts/tokens', { body: { name } })
  await endPassing({ io }, host, minted.secret_key, passing.token_id)
  return minted.secret_key
}

async function endPassing({ io }: Pick<Context, 'io'>, host: ChosenHost, token: string, tokenId: string) {
  await connect(io, host, token).delete('/v1/accounts/tokens/{tokenId}', { path: { tokenId } }).catch(expiresSoon)
}
