/** The message that makes a blank pod the sandbox of a session. */
import type { BootMessage } from '@svc/link'

import type { SandboxSpec } from '../driver.ts'
import { baseEnvironment, entrypointArguments, isLoaderName } from '../layout.ts'
import { seccompFilter } from '../local/seccomp.ts'
import { folderModes } from './pod.ts'
import type { Walls } from './walls.ts'

export function bootMessage(spec: SandboxSpec, { lease, walls }: { lease: number; walls: Walls }): BootMessage {
  return {
    env: { ...baseEnvironment, ...withoutLoaderNames(spec.env) },
    args: entrypointArguments({ limits: processesOf(spec, walls) }, lease),
    modes: folderModes(spec.limits),
    filters: systemCallFilters,
    relays: [
      ...(spec.relaySocket === null ? [] : ['relay' as const]),
      ...(spec.egressSocket ? ['egress' as const] : []),
    ],
  }
}

/**
 * The kernel counts the processes of a user on its node, and without user namespaces the agents of all pods are one user:
 * with the limit of one sandbox, a full node would start no process. The limit of one pod is the kubelet's.
 */
const processesOf = ({ limits: { processesMax } }: SandboxSpec, walls: Walls) => ({
  processesMax: walls.hasOwnUsers ? processesMax : processesMax * sharedBy,
})
const sharedBy = 8

/** The server does not know what its nodes are made of. */
const systemCallFilters = Object.fromEntries(
  (['x64', 'arm64'] as const).map((name) => [name, Buffer.from(seccompFilter(name)).toString('base64')]),
)

function withoutLoaderNames(env: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !isLoaderName(name)))
}
