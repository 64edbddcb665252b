/** The local driver's report on this machine, one finding per part. */
import { execFile } from 'node:child_process'
import { statfsSync } from 'node:fs'
import { totalmem } from 'node:os'
import { promisify } from 'node:util'

import { type Finding, good, missing, weak } from '../finding.ts'
import type { ProbeOutcome } from '../driver.ts'
import { type Cgroups, groupsRemedy } from './cgroup.ts'
import type { Identity } from './ids.ts'
import { findProgram, installCommand } from './probe.ts'

const run = promisify(execFile)

export async function examineLocal(input: {
  probed: ProbeOutcome
  identity: Identity
  cgroups: Cgroups
  stateDir: string
}): Promise<Finding[]> {
  const { probed, identity, cgroups } = input
  const bubblewrap = findProgram('bwrap')
  const version = bubblewrap === null ? null : (await run(bubblewrap, ['--version'])).stdout.trim()
  return [
    probed.kind === 'ready'
      ? good('isolation', `${version}: user, process, network, mount, IPC, and host name namespaces`)
      : missing('isolation', probed.problem, probed.install),
    users(identity),
    limits(cgroups),
    good('system calls', 'a filter blocks namespaces, mounts, keys, bpf, io_uring, and unusual sockets'),
    good('network', 'none; the service and allowed hosts through Unix sockets'),
    disk(input.stateDir),
    findProgram('rg') === null
      ? weak('ripgrep', 'is not installed, so skills cannot search', installCommand('ripgrep'))
      : good('ripgrep', 'is installed'),
  ]
}

function users(identity: Identity): Finding {
  if (identity.kind === 'ranges')
    return good('users', 'daemon and agent have two ids, from a separate range for each sandbox')
  if (identity.kind === 'subordinate' && findProgram('newuidmap') !== null)
    return good(
      'users',
      `daemon and agent have two ids; the agent's ids start at ${identity.subUid.start} in /etc/subuid`,
    )
  if (identity.kind === 'subordinate')
    return missing('users', 'newuidmap is not installed; two ids need it', installCommand('uidmap'))
  return weak(
    'users',
    'daemon and agent share one id, so the agent can signal the daemon: /etc/subuid and /etc/subgid have no range for this user',
    `usermod --add-subuids 200000-265535 --add-subgids 200000-265535 ${process.env['USER'] ?? identity.uid}`,
  )
}

function limits(cgroups: Cgroups): Finding {
  if (cgroups.kind === 'none')
    return weak(
      'limits',
      'the server cannot use control groups: a sandbox has limits for processes and files, but not for memory and CPU time',
      groupsRemedy(),
    )
  if (cgroups.missing.length > 0)
    return weak('limits', `control groups ${cgroups.kind} limit memory and processes here, but not CPU time`)
  return good(
    'limits',
    cgroups.kind === 'scope'
      ? 'memory and processes by systemd scopes; the work tree by its size'
      : `memory, processes, and CPU time by control groups ${cgroups.kind}; the work tree by its size`,
  )
}

function disk(stateDir: string): Finding {
  const gigabytes = (bytes: number) => `${(bytes / 1024 ** 3).toFixed(1)} GiB`
  try {
    const free = statfsSync(stateDir)
    return good(
      'space',
      `${gigabytes(totalmem())} of memory, which holds the work trees; ${gigabytes(free.bavail * free.bsize)} free at ${stateDir}`,
    )
  } catch {
    return good('space', `${gigabytes(totalmem())} of memory, which holds the work trees`)
  }
}
