/** A full commit or object id: 40 hex digits, or 64 in a SHA-256 repository. Shorter ids never reach git. */
export type Sha = string

export interface Remote {
  url: string
  /** Sent as HTTP Basic. */
  credential: { username: string; password: string } | null
  /** Checked addresses from judgeRepositoryUrl: the host name is dialed only at these. */
  pin?: string[]
  /** The transports git may use for this remote: `https`, `ssh`, `http`, `file`. */
  allowProtocols: string[]
  /** The API of a GitHub-style host, which accepts the credential's password as a token. */
  github?: GitHubApi
  /** Called each time content from the host was refused. */
  refused?: (reason: string) => void
  /** Replaces a complete text from the host by `withheldText` when it contains this remote's credential in any encoding. */
  guard?: (text: string) => string
  /** The key for an ssh remote. Without one, ssh uses the keys of the service's user. */
  ssh?: SshAccess
}

export const withheldText = 'The reply of the git host contains its credential, so it is not shown.'

/** Checks a complete text from the host, before it is cut: part of a credential would not be recognized. */
export function guarded(remote: Pick<Remote, 'guard' | 'credential'> | null, text: string): string {
  if (remote?.guard !== undefined) return remote.guard(text)
  const password = remote?.credential?.password ?? ''
  return password !== '' && text.includes(password) ? withheldText : text
}

export interface GitHubApi {
  apiUrl: string
  /** Checked addresses, as for the remote. */
  pin?: string[]
}

export interface SshAccess {
  /** A private key without a passphrase. */
  key: string
  /** Accepted lines of known_hosts; null stores the first key that the host shows, and passes it to `learnt`. */
  knownHosts: string | null
  learnt?: (knownHosts: string) => void
}

/** A bare repository on disk. Without a remote it is managed: the folder is the truth. With one it is a mirror of that host. */
export interface Repository {
  dir: string
  remote: Remote | null
  /** The owner's name: repositories of one group share a limit of concurrent git processes. */
  group?: string | undefined
  /** The branch that HEAD follows where git clients see it. */
  defaultBranch?: string | undefined
}

/** Options of every function that can wait. */
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

/** Checks every id before it reaches git, so that foreign text cannot become an option or a refspec. */
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
