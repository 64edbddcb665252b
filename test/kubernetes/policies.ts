/**
 * Enforces NetworkPolicy on the node of the test cluster, as a network plugin does, for as much of it as the product
 * uses: labels of pods, and ports of incoming connections. `OPEN` in the cluster's folder turns it off.
 */
import { existsSync } from 'node:fs'

import { get } from './api.ts'

const [packages = ''] = process.argv.slice(2)
const everyMs = 200

interface Policy {
  metadata: { namespace: string }
  spec: {
    podSelector: { matchLabels?: Record<string, string> }
    policyTypes: string[]
    ingress?: { ports?: { port: number; protocol: string }[] }[]
  }
}
interface Pod {
  metadata: { namespace: string; labels?: Record<string, string> }
  status: { podIP?: string; phase: string }
}

async function list<Item>(path: string): Promise<Item[]> {
  return ((await (await get(path)).json()) as { items?: Item[] }).items ?? []
}

function rulesOf(policy: Policy, address: string): string[] {
  const rules: string[] = []
  if (policy.spec.policyTypes.includes('Egress'))
    for (const chain of ['INPUT', 'FORWARD']) rules.push(`-A ${chain} -s ${address} -j DROP`)
  if (policy.spec.policyTypes.includes('Ingress')) {
    for (const { ports = [] } of policy.spec.ingress ?? [])
      for (const { port, protocol } of ports)
        rules.push(`-A FORWARD -d ${address} -p ${protocol.toLowerCase()} --dport ${port} -j ACCEPT`)
    rules.push(`-A FORWARD -d ${address} -j DROP`)
  }
  return rules
}

async function table(): Promise<string> {
  const rules: string[] = []
  if (!existsSync('OPEN')) {
    const [policies, pods] = [
      await list<Policy>('/apis/networking.k8s.io/v1/networkpolicies'),
      await list<Pod>('/api/v1/pods'),
    ]
    for (const policy of policies)
      for (const { metadata, status } of pods) {
        const wanted = Object.entries(policy.spec.podSelector.matchLabels ?? {})
        const isSelected = wanted.every(([name, value]) => metadata.labels?.[name] === value)
        const isHere = metadata.namespace === policy.metadata.namespace && status.podIP !== undefined
        if (isSelected && isHere && (status.phase === 'Running' || status.phase === 'Pending'))
          rules.push(...rulesOf(policy, status.podIP!))
      }
  }
  const answers = ['INPUT', 'FORWARD'].map((chain) => `-A ${chain} -m conntrack --ctstate ESTABLISHED -j ACCEPT`)
  return ['*filter', ':INPUT ACCEPT', ':FORWARD ACCEPT', ':OUTPUT ACCEPT', ...answers, ...rules, 'COMMIT', ''].join(
    '\n',
  )
}

let applied = ''
for (;;) {
  const wanted = await table().catch((error: unknown) => {
    console.error(String(error))
    return applied
  })
  if (wanted !== applied && wanted !== '') {
    const child = Bun.spawn([`${packages}/usr/sbin/xtables-legacy-multi`, 'iptables-restore'], {
      stdin: new Blob([wanted]),
      stdout: 'inherit',
      stderr: 'inherit',
      env: {
        LD_LIBRARY_PATH: `${packages}/usr/lib/x86_64-linux-gnu:${packages}/lib/x86_64-linux-gnu`,
        XTABLES_LIBDIR: `${packages}/usr/lib/x86_64-linux-gnu/xtables`,
      },
    })
    if ((await child.exited) === 0) applied = wanted
  }
  await Bun.sleep(everyMs)
}
