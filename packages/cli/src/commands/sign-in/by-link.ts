/** Signs in with an owner link, where no browser reaches the server. */
import { connect } from '../../api.ts'
import { tokenName } from '../../browser/login.ts'
import { type ChosenHost, parseHostUrl } from '../../config/hosts.ts'
import type { Context } from '../../context.ts'
import { UsageError } from '../../errors.ts'

/** The address of the server, and the code that works once. */
export function readLink(link: string): { api: string; code: string } {
  const [, address, code] = /^(\S+)\/sign-in#(\S+)$/.exec(link.trim()) ?? []
  if (address === undefined || code === undefined)
    throw new UsageError('This is not a sign-in link', { next: ['svc self-host owner-link | svc login --link -'] })
  return { api: parseHostUrl(address, '--link'), code }
}

/** The link begins a sign-in of the pages, which creates the token and ends. */
export async function loginByLink({ io }: Context, host: ChosenHost, code: string): Promise<string> {
  const api = connect(io, host, null)
  const origin = { origin: host.origin }
  const { response } = await api.route('POST', '/v1/sign-in', { headers: origin, body: { code } })
  const cookies = response.headers.getSetCookie().map((each) => each.split(';')[0])
  const headers = { ...origin, cookie: cookies.join('; ') }
  try {
    return (await api.post('/v1/accounts/tokens', { headers, body: { name: tokenName(io) } })).secret_key
  } finally {
    await api.route('POST', '/v1/sign-out', { headers })
  }
}
