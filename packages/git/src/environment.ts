import type { Remote } from './repository.ts'
import { sshCommand, type SshFiles } from './ssh.ts'

/** Settings every child gets, whatever the repository's own config says. They travel in the environment, not in argv. */
const alwaysConfig: [string, string][] = [
  ['core.hooksPath', '/dev/null'],
  ['core.fsmonitor', 'false'],
  ['credential.helper', ''],
  ['gc.auto', '0'],
  ['maintenance.auto', 'false'],
  ['advice.detachedHead', 'false'],
  ['transfer.bundleURI', 'false'],
  ['transfer.fsckObjects', 'true'],
  ['http.followRedirects', 'false'],
  // A crash of merge-tree (exit 134) hides behind renormalize; it is never wanted here.
  ['merge.renormalize', 'false'],
  ['pack.threads', '2'],
  // The sparse walk goes down every path: a tree of twelve objects and a billion paths keeps it busy for ever.
  ['pack.useSparse', 'false'],
  // Others are done with a ref in milliseconds; on a busy machine git's own 100 are too few to wait for them.
  ['core.filesRefLockTimeout', '5000'],
  ['core.packedRefsTimeout', '5000'],
  ['submodule.recurse', 'false'],
  ['log.showSignature', 'false'],
  // Old, harmless mistakes that real histories are full of; refusing them would refuse the repository.
  ...['badTimezone', 'missingSpaceBeforeDate', 'zeroPaddedFilemode'].flatMap((id): [string, string][] => [
    [`fetch.fsck.${id}`, 'ignore'],
    [`receive.fsck.${id}`, 'ignore'],
  ]),
]

export interface EnvironmentInput {
  remote?: Remote | null
  config?: [string, string][]
  env?: Record<string, string>
  /** A host that says nothing for this long is given up. */
  silentSeconds?: number
}

/** The whole environment of a git child: nothing of ours leaks in but PATH and, for ssh without a key of its own, the agent's socket. */
export function childEnvironment(input: EnvironmentInput, sshFiles: SshFiles | null = null): Record<string, string> {
  const remote = input.remote ?? null
  const silentSeconds = input.silentSeconds ?? 30
  const config = [...alwaysConfig, ...(remote ? remoteConfig(remote, silentSeconds) : []), ...(input.config ?? [])]
  const environment: Record<string, string> = {
    PATH: process.env.PATH ?? '/usr/local/bin:/usr/bin:/bin',
    LC_ALL: 'C',
    HOME: '/nonexistent',
    XDG_CONFIG_HOME: '/nonexistent',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_ATTR_NOSYSTEM: '1',
    GIT_TERMINAL_PROMPT: '0',
    GIT_NO_REPLACE_OBJECTS: '1',
    GIT_NO_LAZY_FETCH: '1',
    GIT_OPTIONAL_LOCKS: '0',
    GIT_LITERAL_PATHSPECS: '1',
    GIT_PROTOCOL_FROM_USER: '0',
    GIT_ALLOW_PROTOCOL: remote ? remote.allowProtocols.join(':') : 'none',
    GIT_CONFIG_COUNT: String(config.length),
  }
  config.forEach(([key, value], index) => {
    environment[`GIT_CONFIG_KEY_${index}`] = key
    environment[`GIT_CONFIG_VALUE_${index}`] = value
  })
  if (remote?.allowProtocols.includes('ssh')) {
    environment.GIT_SSH_COMMAND = sshCommand(remote, sshFiles, silentSeconds)
    environment.GIT_SSH_VARIANT = 'ssh'
    if (!sshFiles && process.env.SSH_AUTH_SOCK) environment.SSH_AUTH_SOCK = process.env.SSH_AUTH_SOCK
    // ssh asks the password database for its home; HOME only keeps git itself from looking there.
  }
  return { ...environment, ...input.env }
}

function remoteConfig(remote: Remote, silentSeconds: number): [string, string][] {
  const config: [string, string][] = [
    ['http.lowSpeedLimit', '1'],
    ['http.lowSpeedTime', String(silentSeconds)],
  ]
  if (!/^https?:/.test(remote.url)) return config
  const url = new URL(remote.url)
  // Bound to the origin, so the credential cannot follow git anywhere else.
  if (remote.credential)
    config.push([`http.${url.origin}/.extraHeader`, `Authorization: ${basicAuth(remote.credential)}`])
  if (remote.pin?.length && !isAddress(url.hostname)) {
    const port = url.port || (url.protocol === 'https:' ? '443' : '80')
    const addresses = remote.pin.map((address) => (address.includes(':') ? `[${address}]` : address)).join(',')
    config.push(['http.curloptResolve', `${url.hostname}:${port}:${addresses}`])
  }
  return config
}

export function basicAuth(credential: { username: string; password: string }): string {
  return `Basic ${Buffer.from(`${credential.username}:${credential.password}`).toString('base64')}`
}

export function isAddress(host: string): boolean {
  return host.startsWith('[') || /^\d+\.\d+\.\d+\.\d+$/.test(host)
}
