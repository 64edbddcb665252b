/** What the operator says of every sandbox: the most it may use and reach. */
import { availableParallelism } from 'node:os'
import { type EgressRule, parseEgressPattern } from '@svc/contract/egress'
import { engineSockets } from '@svc/sandbox'
import { bytesOf } from '@svc/contract/quotas'

/** What sandboxes may reach if their project asks for it. */
export type OperatorEgress = readonly EgressRule[] | 'any' | 'none'

export interface SandboxMax {
  cpu: number
  memoryBytes: number
  diskBytes: number
}

type Env = Record<string, string | undefined>

export function readSandboxes(
  env: Env,
  problems: string[],
): {
  sandboxMax: SandboxMax
  egress: OperatorEgress
  hiddenPaths: string[]
  containers: { sockets: string[]; buildNetwork: 'none' | 'default' }
} {
  const size = (name: string, fallback: string): number => {
    const bytes = bytesOf(env[name] || fallback)
    if (bytes !== null && bytes >= 64 * 1024 ** 2) return bytes
    problems.push(`${name} has to be a size of at least 64MiB, like "8GiB", but is ${JSON.stringify(env[name])}.`)
    return 0
  }
  const cpu = Number(env.SVC_SANDBOX_CPU_MAX || availableParallelism())
  if (!(cpu >= 0.1 && cpu <= 1024))
    problems.push(`SVC_SANDBOX_CPU_MAX has to be a number of cores, but is ${JSON.stringify(env.SVC_SANDBOX_CPU_MAX)}.`)
  return {
    sandboxMax: {
      cpu,
      memoryBytes: size('SVC_SANDBOX_MEMORY_MAX', '16GiB'),
      diskBytes: size('SVC_SANDBOX_DISK_MAX', '32GiB'),
    },
    containers: {
      sockets: engineSockets(env.DOCKER_HOST, env.XDG_RUNTIME_DIR),
      buildNetwork: readBuildNetwork(env.SVC_BUILD_NETWORK || 'none', problems),
    },
    egress: readEgress(env.SVC_EGRESS || 'any', problems),
    hiddenPaths: readHiddenPaths(env.SVC_SANDBOX_HIDDEN_PATHS || '', problems),
  }
}

/** Without these nothing starts in a sandbox. */
const neededPaths = [
  '/usr/bin',
  '/usr/lib',
  '/usr/lib64',
  '/usr/local/bin',
  '/etc/ssl',
  '/bin',
  '/lib',
  '/lib64',
  '/sbin',
]

function readHiddenPaths(text: string, problems: string[]): string[] {
  const paths = text.split(':').flatMap((path) => (path === '' ? [] : [path.replace(/\/+$/, '')]))
  for (const path of paths) {
    const isNeeded = neededPaths.some((needed) => `${needed}/`.startsWith(`${path}/`))
    if (!path.startsWith('/') || path.includes('/../') || isNeeded)
      problems.push(
        `SVC_SANDBOX_HIDDEN_PATHS has to be absolute paths, separated by colons, that programs do without, but has ${JSON.stringify(path)}.`,
      )
  }
  return paths
}

function readEgress(text: string, problems: string[]): OperatorEgress {
  if (text === 'none' || text === 'any') return text
  return text.split(',').flatMap((part) => {
    const parsed = parseEgressPattern(part.trim())
    if (typeof parsed !== 'string') return parsed
    problems.push(
      `SVC_EGRESS has to be any, none or hosts separated by commas, but ${JSON.stringify(part.trim())} ${parsed}.`,
    )
    return []
  })
}

function readBuildNetwork(text: string, problems: string[]): 'none' | 'default' {
  if (text === 'none' || text === 'default') return text
  problems.push(`SVC_BUILD_NETWORK has to be none or default, but is ${JSON.stringify(text)}.`)
  return 'none'
}
