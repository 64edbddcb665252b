/** A full commit or object id: 40 hex digits, or 64 in a SHA-256 repository. Nothing shorter ever reaches git. */
export type Sha = string

export interface Remote {
  url: string
  /** Sent as HTTP Basic. */
  credential: { username: string; password: string } | null
  /** Checked addresses from judgeRepositoryUrl: the host name is dialled at these and nowhere else. */
  pin?: string[]
  /** The transports git may use for this remote, and no other: `https`, `ssh`, `http`, `file`. */
  allowProtocols: string[]
  /** Where the API of a GitHub-style host is; it takes the credential's password as a token. */
  github?: GitHubApi
  /** Told when what the host sent was refused, each time it was sent. */
  refused?: (reason: string) => void
  /** Replaces a whole text of the host by `withheldText` when it holds this remote's credential in any encoding. */
  guard?: (text: string) => string
  /** The key for an ssh remote. Without one, what the user the service runs as has for that host is used. */
  ssh?: SshAccess
}

export const withheldText = 'The git host answered with a text that holds its credential, so the text is not shown.'

/** A complete text of the host, before anything is cut from it: a part of a credential would not be recognized. */
export function guarded(remote: Pick<Remote, 'guard' | 'credential'> | null, text: string): string {
  if (remote?.guard !== undefined) return remote.guard(text)
  const password = remote?.credential?.password ?? ''
  return password !== '' && text.includes(password) ? withheldText : text
}

export interface GitHubApi {
  apiUrl: string
  /** Checked addresses, as of the remote itself. */
  pin?: string[]
}

export interface SshAccess {
  /** A private key without a passphrase. */
  key: string
  /** The lines of known_hosts that are accepted; null takes down what the host shows first, and tells `learnt`. */
  knownHosts: string | null
  learnt?: (knownHosts: string) => void
}

/** A bare repository on disk. Without a remote it is managed: the folder is the truth. With one it is a mirror of that host. */
export interface Repository {
  dir: string
  remote: Remote | null
  /** Its owner's name, for fair places: repositories of one group share what git may run at once. */
  group?: string | undefined
}

/** What everything that can wait accepts. */
export interface CallOptions {
  signal?: AbortSignal
  timeoutMs?: number
}

/** One line of a push's command list. An id of zeros means the ref does not exist on that side. */
export interface RefUpdate {
  ref: string
  oldSha: Sha
  newSha: Sha
}

export interface RefValue {
  ref: string
  sha: Sha
}

const fullSha = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/

export function isSha(text: string): boolean {
  return fullSha.test(text)
}

/** Every id is checked here on its way to git, so no foreign text can stand where an option or a refspec would. */
export function requireSha(text: string): Sha {
  if (!isSha(text)) throw new TypeError(`Not a full commit id: ${JSON.stringify(text.slice(0, 80))}`)
  return text
}

export function zeroSha(like: Sha): Sha {
  return '0'.repeat(like.length)
}

export function isZero(sha: Sha): boolean {
  return /^0+$/.test(sha)
}
