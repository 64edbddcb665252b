/**
 * Paths and ids inside a sandbox. The daemon reads the same facts from the contract, which drivers may not import;
 * test/e2e/sandbox.test.ts compares the two.
 */
export const runDir = '/run/svc'
export const daemonSocketName = 'daemon.sock'
/** Folders below `runDir`: the host's folders with the sockets of the server. */
export const relayFolderName = 'relay'
export const egressFolderName = 'egress'
/** Where a sandbox on another machine waits for its server. */
export const linkPort = 61082
export const workspaceDir = '/workspace'
export const runtimeHome = '/opt/svc/home'
export const attachmentsDir = '/opt/svc/attachments'
export const binDir = '/usr/local/bin'
export const agentUid = 1000
/** Uids and gids that each sandbox maps: 16 bits, so that "nobody" exists under every convention. */
export const idsPerSandbox = 65_536

/** Set for every program in the sandbox, unless the caller's environment overrides it. */
export const baseEnvironment: Record<string, string> = {
  PATH: '/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin',
  HOME: '/root',
  LANG: 'C.UTF-8',
  TERM: 'dumb',
  SVC_WORKSPACE: workspaceDir,
}

/**
 * Names that change how programs start. PID 1 and the daemon have more privileges than the agent, so these names
 * never reach them: an LD_PRELOAD from /workspace would give the agent control of the daemon.
 */
const loaderNames =
  /^(LD_.*|DYLD_.*|GLIBC_TUNABLES|MALLOC_.*|BUN_.*|NODE_OPTIONS|NODE_EXTRA_CA_CERTS|BASH_ENV|ENV|IFS|GCONV_PATH|LOCPATH|HOSTALIASES|RES_OPTIONS|OPENSSL_.*|SSL_CERT_.*)$/i

export function isLoaderName(name: string): boolean {
  return loaderNames.test(name)
}

/** The users of a sandbox, and no name resolution. */
export const etcFiles: Record<string, string> = {
  passwd: [
    'root:x:0:0:svc daemon:/root:/usr/sbin/nologin',
    `agent:x:1000:1000:svc agent:${runtimeHome}:/bin/bash`,
    'nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n',
  ].join('\n'),
  group: 'root:x:0:\nagent:x:1000:\nnogroup:x:65534:\n',
  hosts: '127.0.0.1 localhost sandbox\n::1 localhost\n',
  'nsswitch.conf': 'passwd: files\ngroup: files\nhosts: files\n',
  // Without a network there is no name server: lookups fail at once instead of timing out.
  'resolv.conf': '',
}

/** The agent's uid gets fewer processes than the sandbox, so that the daemon still answers during a fork bomb. */
function agentProcessesOf({ processesMax }: { processesMax: number }): number {
  return Math.max(16, Math.floor(processesMax - Math.min(96, processesMax / 4)))
}

/**
 * Arguments of PID 1. With a lease the sandbox ends after so long without a server. Without one the server holds a pipe
 * on the standard input of PID 1, which exits when the pipe closes.
 */
export function entrypointArguments({ limits }: { limits: { processesMax: number } }, leaseSeconds: number): string[] {
  const end = leaseSeconds > 0 ? ['--lease', String(leaseSeconds)] : ['--lifeline']
  return [...end, '--agent-processes', String(agentProcessesOf(limits))]
}

/** The limit that was reached. Files share it: programs may use the limit plus the unused disk size. */
export function memorySentence(limits: { memoryBytesMax: number; diskBytesMax: number }): string {
  return `out of memory (limit ${sizeOf(limits.memoryBytesMax)}, and ${sizeOf(limits.diskBytesMax)} that it shares with its files)`
}

/** The kernel kills the largest of all sandboxes, which may not have caused the shortage. */
export const sharedMemorySentence = 'out of memory (all sandboxes of this server together)'

function sizeOf(bytes: number): string {
  const gib = bytes / 1024 ** 3
  return gib >= 1 ? `${Number(gib.toFixed(1))} GiB` : `${Math.round(gib * 1024)} MiB`
}
