/** Checks whether this machine can isolate sandboxes, and what is missing when it cannot. */
import { execFile } from 'node:child_process'
import { accessSync, constants, existsSync, readFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'

import type { ProbeOutcome } from '../driver.ts'
import { type Cgroups, groupsRemedy } from './cgroup.ts'
import type { Identity } from './ids.ts'

const run = promisify(execFile)

/** The maximum length of a Unix socket's path, including its final NUL. */
const socketPathMax = 108

interface ProbeInput {
  svcBinary: string
  runtimeBinary: string
  identity: Identity
  cgroups: Cgroups
  /** The longest socket path that the driver will use. */
  longestSocket: string
}

type Missing = Extract<ProbeOutcome, { kind: 'missing' }>

export async function probeMachine(input: ProbeInput): Promise<ProbeOutcome> {
  const missing = (problem: string, install: string | null = null): Missing => ({ kind: 'missing', problem, install })
  if (process.platform !== 'linux') return missing('The local driver needs Linux.')
  if (!['x64', 'arm64'].includes(process.arch)) return missing(`The local driver does not support ${process.arch}.`)
  const bubblewrap = findProgram('bwrap')
  if (bubblewrap === null) return missing('bubblewrap is not installed.', installCommand('bubblewrap'))
  const asRoot = input.identity.kind === 'ranges' ? { unshare: 'util-linux', mount: 'mount' } : {}
  const needed = { git: 'git', setpriv: 'util-linux', prlimit: 'util-linux', ...asRoot }
  for (const [program, pack] of Object.entries(needed)) {
    if (findProgram(program) === null) return missing(`${program} is not installed.`, installCommand(pack))
  }
  for (const [what, path] of [
    ['The program', input.svcBinary],
    ['The agent runtime, which a release has beside svc and npm start installs,', input.runtimeBinary],
  ] as const) {
    if (!isExecutable(path)) return missing(`${what} is not an executable file: ${path}`)
  }
  if (Buffer.byteLength(input.longestSocket) >= socketPathMax) {
    return missing(`The path of the state folder is too long for sockets: ${input.longestSocket}`)
  }
  const { stdout: help } = await run(bubblewrap, ['--help'])
  for (const flag of ['--userns-block-fd', '--size', '--perms']) {
    if (!help.includes(flag)) return missing(`bubblewrap is too old: it lacks ${flag}.`, installCommand('bubblewrap'))
  }
  return (
    (await tryNamespaces(bubblewrap)) ?? {
      kind: 'ready',
      warnings: warnings(input),
      missingLimits: input.cgroups.missing,
    }
  )
}

/** Tries the namespaces of a sandbox with a program that exits at once. */
async function tryNamespaces(bubblewrap: string): Promise<Missing | null> {
  const args = ['--unshare-user', '--unshare-pid', '--unshare-net', '--unshare-ipc', '--unshare-uts']
  const view = ['--ro-bind', '/', '/', '--proc', '/proc', '--dev', '/dev']
  try {
    await run(bubblewrap, [...args, ...view, '--', 'true'], { timeout: 10_000 })
    return null
  } catch (error) {
    const lines = String((error as { stderr?: string }).stderr ?? error)
      .trim()
      .split('\n')
    return explainNamespaces(lines.at(-1) ?? '')
  }
}

function explainNamespaces(message: string): Missing {
  const sysctls: [string, string, string][] = [
    ['/proc/sys/kernel/unprivileged_userns_clone', '0', 'sysctl -w kernel.unprivileged_userns_clone=1'],
    ['/proc/sys/user/max_user_namespaces', '0', 'sysctl -w user.max_user_namespaces=15000'],
    [
      '/proc/sys/kernel/apparmor_restrict_unprivileged_userns',
      '1',
      'sysctl -w kernel.apparmor_restrict_unprivileged_userns=0',
    ],
  ]
  for (const [file, off, command] of sysctls) {
    if (existsSync(file) && readFileSync(file, 'utf8').trim() === off) {
      return { kind: 'missing', problem: 'User namespaces are turned off on this machine.', install: command }
    }
  }
  return { kind: 'missing', problem: `bubblewrap cannot create its namespaces here: ${message}`, install: null }
}

function warnings(input: ProbeInput): string[] {
  const found: string[] = []
  if (input.identity.kind === 'single') {
    found.push(
      'This user has no range in /etc/subuid and /etc/subgid, so the daemon and the agent share one uid in the ' +
        'sandbox, and the agent can signal the daemon. Add a range with: usermod --add-subuids 200000-265535 ' +
        `--add-subgids 200000-265535 ${process.env['USER'] ?? 'USER'}`,
    )
  } else if (input.identity.kind === 'subordinate' && findProgram('newuidmap') === null) {
    found.push(`newuidmap is not installed: ${installCommand('uidmap')}`)
  }
  if (input.cgroups.kind === 'none') {
    found.push(
      'The server cannot use control groups, so a sandbox has limits for processes and files, but not for memory and ' +
        'CPU time. Its programs yield to others and are killed first when memory runs out. ' +
        groupsRemedy(),
    )
  } else if (input.cgroups.missing.includes('cpu'))
    found.push('The server cannot use the control group for CPU time, so a sandbox can use all of it.')
  if (findProgram('rg') === null)
    found.push(`ripgrep is not installed, so skills cannot search: ${installCommand('ripgrep')}`)
  return found
}

export function findProgram(name: string): string | null {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/bin', '/bin', '/usr/sbin', '/sbin']
  for (const folder of folders) {
    if (folder.startsWith('/') && isExecutable(join(folder, name))) return join(folder, name)
  }
  return null
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

const packageManagers: [program: string, command: string][] = [
  ['apt-get', 'apt-get install -y'],
  ['dnf', 'dnf install -y'],
  ['zypper', 'zypper install -y'],
  ['pacman', 'pacman -S --noconfirm'],
  ['apk', 'apk add'],
]

/** `pack` is Debian's package name; other systems use the same names for util-linux, git, and bubblewrap. */
export function installCommand(pack: string): string {
  const manager = packageManagers.find(([program]) => findProgram(program) !== null)
  return `${manager?.[1] ?? 'apt-get install -y'} ${pack === 'uidmap' && manager?.[0] !== 'apt-get' ? 'shadow-utils' : pack}`
}
