import type { Remote } from '../repository.ts'
import { sshCommand, type SshFiles } from './ssh.ts'

/** Settings for every git process, which override the repository's own. They go through the environment, not argv. */
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
  // merge-tree can crash with renormalize (exit 134), and the service never needs it.
  ['merge.renormalize', 'false'],
  ['pack.threads', '2'],
  // The sparse algorithm visits every path: a tree of twelve objects and a billion paths would never finish.
  ['pack.useSparse', 'false'],
  // Other processes hold a ref for milliseconds; on a busy machine git's default of 100 ms is too short.
  ['core.filesRefLockTimeout', '5000'],
  ['core.packedRefsTimeout', '5000'],
  ['submodule.recurse', 'false'],
  ['log.showSignature', 'false'],
  // Old, harmless mistakes that are common in real histories; refusing them would refuse the repository.
  ...['badTimezone', 'missingSpaceBeforeDate', 'zeroPaddedFilemode'].flatMap((id): [string, string][] => [
    [`fetch.fsck.${id}`, 'ignore'],
    [`receive.fsck.${id}`, 'ignore'],
  ]),
]

export interface EnvironmentInput {
  remote?: Remote | null
  config?: [string, string][]
  env?: Record<string, string>
  /** A host that sends nothing for this long has failed. */
  silentSeconds?: number
}

/** A git process's whole environment. Only PATH and, for ssh without a key, the ssh agent come from the server. */
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
    // ssh reads its home folder from the password database; HOME only affects git.
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
  // Bound to the origin, so that git sends the credential nowhere else.
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
