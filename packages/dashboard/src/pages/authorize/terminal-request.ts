/** A terminal that waits for sign-in. `svc login` passes it in the URL's fragment, which reaches no server and no log. */
export interface TerminalRequest {
  port: number
  state: string
  challenge: string
  name: string
  /** The terminal did not open this browser, so it may run on another machine. */
  mayBeElsewhere: boolean
}

/** Null when the fragment is not from a terminal. */
export function readRequest(hash: string): TerminalRequest | null {
  const given = new URLSearchParams(hash.slice(1))
  const port = Number(given.get('port'))
  const state = given.get('state') ?? ''
  const challenge = given.get('challenge') ?? ''
  const fits =
    Number.isInteger(port) && port > 0 && port < 65536 && /^[\w-]{43}$/.test(challenge) && /^[\w-]{22,128}$/.test(state)
  if (!fits) return null
  const name = (given.get('name') ?? '').slice(0, 100) || 'a terminal'
  return { port, state, challenge, name, mayBeElsewhere: given.get('elsewhere') === '1' }
}

/** The terminal computes the same code: packages/cli/src/browser/login.ts. */
export function shortCode(challenge: string): string {
  const letters = challenge.replace(/[^A-Za-z0-9]/g, '').toUpperCase()
  return `${letters.slice(0, 4)}-${letters.slice(4, 8)}`
}

/** The terminal's listener. It redirects the browser back here. */
export function callbackOf(request: TerminalRequest, result: { code: string } | { refused: '1' }): string {
  const back = new URL(`http://127.0.0.1:${request.port}/callback`)
  back.search = new URLSearchParams({ state: request.state, ...result }).toString()
  return back.href
}
