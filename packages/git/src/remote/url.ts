import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { closedNetwork } from './addresses.ts'

export type UrlVerdict =
  /** `url` is the normalized form, to be stored and used; `pin` are the checked addresses. */
  | { kind: 'allowed'; url: string; pin: string[]; allowProtocols: string[] }
  /** `isClosed`: the URL is valid, but the policy refuses it. */
  | { kind: 'refused'; reason: string; isClosed?: true }

export interface UrlPolicy {
  /** Allows private addresses, plain http, and the ssh keys of the service's user. */
  allowPrivate: boolean
  /** Default: as `allowPrivate`. Paths are checked by judgeLocalRepository. */
  allowFile?: boolean
  /** Default: as `allowPrivate`. */
  allowHttp?: boolean
}

/** All addresses of a host name. */
export type Resolve = (host: string) => Promise<string[]>

const urlLengthMax = 2048

/** Decides whether the service may use a repository's URL, and with which name, addresses, and protocol. */
export async function judgeRepositoryUrl(
  url: string,
  policy: UrlPolicy,
  resolve: Resolve = resolveAll,
): Promise<UrlVerdict> {
  const parsed = parseRepositoryUrl(url)
  if ('reason' in parsed) return { kind: 'refused', reason: parsed.reason }
  const { protocol } = parsed
  const { allowPrivate, allowFile = allowPrivate, allowHttp = allowPrivate } = policy
  if ((protocol === 'http' && !allowHttp) || (protocol === 'file' && !allowFile)) {
    return {
      kind: 'refused',
      isClosed: true,
      reason: `Repository URLs with ${protocol}:// are not allowed here; use https:// or ssh://.${protocol === 'file' ? ' The operator can allow folders of the server: SVC_FILE_REPOSITORY_ROOTS.' : ''}`,
    }
  }
  const allowed = { kind: 'allowed' as const, url: parsed.url, pin: [] as string[], allowProtocols: [protocol] }
  // Private addresses are allowed, so there is nothing to check or pin.
  if (allowPrivate || parsed.host === null) return allowed
  return judgeHost(parsed.host, allowed, resolve)
}

export type ApiVerdict = { kind: 'allowed'; url: string; pin: string[] } | { kind: 'refused'; reason: string }

/** The same for the base URL of a git host's API, which may be the root of its host. */
export async function judgeApiUrl(
  url: string,
  policy: { allowPrivate: boolean },
  resolve: Resolve = resolveAll,
): Promise<ApiVerdict> {
  // With a name appended it has the shape of a repository URL, which can be judged.
  const verdict = await judgeRepositoryUrl(`${url.replace(/\/+$/, '')}/x`, policy, resolve)
  if (verdict.kind === 'refused')
    return { kind: 'refused', reason: verdict.reason.replaceAll('repository URL', 'API URL') }
  if (!/^https?:/.test(verdict.url)) return { kind: 'refused', reason: 'The API URL must begin with https://.' }
  return { kind: 'allowed', url: verdict.url.slice(0, -'/x'.length), pin: verdict.pin }
}

async function judgeHost(
  host: string,
  allowed: UrlVerdict & { kind: 'allowed' },
  resolve: Resolve,
): Promise<UrlVerdict> {
  const bare = host.replace(/^\[|\]$/g, '')
  if (isIP(bare)) return refuseClosed(host, [bare]) ?? allowed
  if (/(?:^|\.)(?:localhost|local|internal|intranet|lan|home|corp|home\.arpa)$/.test(bare) || !bare.includes('.')) {
    return {
      kind: 'refused',
      isClosed: true,
      reason: `The host ${bare} is a private name, and private git hosts are not allowed here.`,
    }
  }
  let addresses: string[]
  try {
    addresses = await resolve(bare)
  } catch {
    return {
      kind: 'refused',
      reason: `The host ${bare} could not be resolved. Check its spelling, or try again in a moment.`,
    }
  }
  if (addresses.length === 0) return { kind: 'refused', reason: `The host ${bare} has no address.` }
  // DNS rebinding mixes a private address with public ones, so every address is checked.
  return refuseClosed(bare, addresses) ?? { ...allowed, pin: addresses }
}

function refuseClosed(host: string, addresses: string[]): (UrlVerdict & { kind: 'refused' }) | null {
  for (const address of addresses) {
    const what = closedNetwork(address)
    if (what)
      return {
        kind: 'refused',
        isClosed: true,
        reason: `The host ${host} resolves to ${address}: ${what}. Private git hosts are not allowed here.`,
      }
  }
  return null
}

async function resolveAll(host: string): Promise<string[]> {
  const answers = await lookup(host, { all: true, verbatim: true })
  return answers.map(({ address }) => address)
}

type Parsed = { url: string; protocol: 'https' | 'http' | 'ssh' | 'file'; host: string | null } | { reason: string }

/** Parses a URL the way it will be used. The result is rebuilt from the checked parts. */
export function parseRepositoryUrl(text: string): Parsed {
  if (text.length > urlLengthMax) return { reason: `The repository URL is longer than ${urlLengthMax} characters.` }
  if (text === '') return { reason: 'The repository URL is empty.' }
  const isPath = text.startsWith('/') || /^file:\/\/\//i.test(text)
  if (/[\p{Cc}\p{Cf}\u2028\u2029\\]/u.test(text) || (!isPath && text.includes(' '))) {
    return { reason: 'The repository URL contains a space, a backslash or a control character.' }
  }
  if (text.startsWith('-')) return { reason: 'The repository URL begins with a dash.' }
  if (/^[^/]*::/.test(text) && !/^[a-z]+:\/\/[^/]*\[/i.test(text))
    return { reason: 'Remote helpers (`name::address`) are not allowed.' }
  if (isPath) return parsePath(text)
  const scheme = /^([a-zA-Z][a-zA-Z0-9+.-]*):\/\//.exec(text)?.[1]?.toLowerCase()
  if (!scheme) return parseScpLike(text)
  if (scheme === 'file') return { reason: 'A file URL must be file:///absolute/path.' }
  if (scheme === 'https' || scheme === 'http') return parseHttp(text, scheme)
  if (scheme === 'ssh' || scheme === 'git+ssh' || scheme === 'ssh+git')
    return parseSsh(text.slice(text.indexOf('://') + 3))
  return { reason: `Repository URLs with ${scheme}:// are not supported; use https:// or ssh://.` }
}

function parsePath(text: string): Parsed {
  const plain = { reason: 'Use the absolute path of the repository, without `..`.' }
  let path: string
  try {
    path = text.startsWith('/') ? text : fileURLToPath(text)
  } catch {
    return plain
  }
  if (!path.startsWith('/') || path === '/' || path.includes('\0') || /(?:^|\/)(?:\.|%2e){2}(?:\/|$)/i.test(text))
    return plain
  return { url: pathToFileURL(path).href.replace(/\/+$/, ''), protocol: 'file', host: null }
}

function parseHttp(text: string, protocol: 'https' | 'http'): Parsed {
  // URL accepts a missing host and takes the first part of the path for it.
  if (!/^https?:\/\/[^/]/i.test(text)) return { reason: 'The repository URL names no host.' }
  let url: URL
  try {
    url = new URL(text)
  } catch {
    return { reason: 'The repository URL cannot be read as a URL.' }
  }
  if (
    url.username ||
    url.password ||
    text
      .slice(text.indexOf('//') + 2)
      .split('/')[0]
      ?.includes('@')
  ) {
    return { reason: 'The repository URL contains a user name or password. Pass the credential separately.' }
  }
  if (url.search || url.hash) return { reason: 'The repository URL has a query or a fragment.' }
  if (url.pathname === '/' || /%(?:00|0a|0d|2e|2f|5c)|\/\.\.?(?:\/|$)/i.test(text))
    return { reason: 'The repository URL does not name a repository on its host.' }
  const host = url.hostname.replace(/\.$/, '')
  if (!isHost(host)) return { reason: 'The host in the repository URL is not a host name.' }
  if (url.port === '0') return { reason: 'The port in the repository URL is not a port.' }
  const port = url.port ? `:${url.port}` : ''
  return { url: `${protocol}://${host}${port}${url.pathname.replace(/\/+$/, '')}`, protocol, host }
}

/** `user@host:path`, as git and hosts' web pages show it. */
function parseScpLike(text: string): Parsed {
  const match = /^((?:[A-Za-z0-9._-]+@)?(?:[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])):(?!\/\/)(.+)$/.exec(text)
  const host = match?.[1] ?? ''
  // Without a user, only a name with a dot is a host; `data:` and `file:` are not.
  if (!match || (!host.includes('@') && !host.includes('.')))
    return { reason: 'The repository URL must begin with https:// or ssh://.' }
  const path = match[2] as string
  return parseSsh(`${host}/${path.replace(/^\/+/, '')}`)
}

/** `[user@]host[:port]/path`. Parsed here, since URL does not normalize the host of ssh URLs. */
function parseSsh(text: string): Parsed {
  const match =
    /^(?:([A-Za-z0-9._][A-Za-z0-9._-]*)@)?([A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(?::([0-9]{1,5}))?\/(.+)$/.exec(text)
  if (!match) {
    const hasPassword = /^[^/]*:[^/]*@/.test(text)
    return {
      reason: hasPassword
        ? 'The repository URL contains a password.'
        : 'The ssh URL must be ssh://[user@]host[:port]/path.',
    }
  }
  const [, user, rawHost = '', port, path = ''] = match
  if (rawHost.startsWith('-') || path.startsWith('-'))
    return { reason: 'A part of the repository URL begins with a dash.' }
  // The rules of http URLs turn 0x7f.1 and similar forms into the address they mean.
  let host: string
  try {
    host = new URL(`http://${rawHost}/`).hostname.replace(/\.$/, '')
  } catch {
    return { reason: 'The host in the repository URL is not a host name.' }
  }
  if (!isHost(host)) return { reason: 'The host in the repository URL is not a host name.' }
  if (port !== undefined && (Number(port) < 1 || Number(port) > 65535))
    return { reason: 'The port in the repository URL is not a port.' }
  const url = `ssh://${user ? `${user}@` : ''}${host}${port ? `:${Number(port)}` : ''}/${path.replace(/\/+$/, '')}`
  return { url, protocol: 'ssh', host }
}

function isHost(host: string): boolean {
  if (host.startsWith('[')) return isIP(host.slice(1, -1)) === 6
  if (isIP(host)) return true
  return host.length <= 253 && host.split('.').every((label) => /^(?!-)[a-z0-9_-]{1,63}(?<!-)$/.test(label))
}
