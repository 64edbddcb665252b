/**
 * NetworkPolicy as rules of the node's packet filter, as a network plugin enforces it, for as much of it as the product
 * uses: labels of pods, and sources and ports of incoming connections.
 */
import type { Pod } from './api.ts'

type Labels = Record<string, string>
interface Selector {
  matchLabels?: Labels
}
interface Peer {
  podSelector?: Selector
  namespaceSelector?: Selector
  ipBlock?: { cidr: string }
}

export interface Policy {
  metadata: { namespace: string }
  spec: {
    podSelector: Selector
    policyTypes: string[]
    ingress?: { ports?: { port: number; protocol: string }[]; from?: Peer[] }[]
  }
}

export interface Namespace {
  metadata: { name: string; labels?: Labels }
}

interface Seen {
  pods: Pod[]
  namespaces: Namespace[]
}

const selects = ({ matchLabels = {} }: Selector, labels: Labels = {}) =>
  Object.entries(matchLabels).every(([name, value]) => labels[name] === value)

const hasAddress = ({ status: { podIP, phase } }: Pod) =>
  podIP !== undefined && (phase === 'Running' || phase === 'Pending')

export function policyRules(policies: Policy[], seen: Seen): string[] {
  return policies.flatMap((policy) =>
    seen.pods
      .filter(
        (pod) =>
          pod.metadata.namespace === policy.metadata.namespace &&
          selects(policy.spec.podSelector, pod.metadata.labels) &&
          hasAddress(pod),
      )
      .flatMap(({ status }) => rulesOf(policy, status.podIP!, seen)),
  )
}

function rulesOf(policy: Policy, address: string, seen: Seen): string[] {
  const rules: string[] = []
  if (policy.spec.policyTypes.includes('Egress'))
    for (const chain of ['INPUT', 'FORWARD']) rules.push(`-A ${chain} -s ${address} -j DROP`)
  if (policy.spec.policyTypes.includes('Ingress')) {
    for (const { ports = [], from } of policy.spec.ingress ?? [])
      for (const source of from === undefined ? [''] : from.flatMap((peer) => sourcesOf(peer, policy, seen)))
        for (const { port, protocol } of ports)
          rules.push(`-A FORWARD ${source}-d ${address} -p ${protocol.toLowerCase()} --dport ${port} -j ACCEPT`)
    rules.push(`-A FORWARD -d ${address} -j DROP`)
  }
  return rules
}

function sourcesOf({ podSelector, namespaceSelector, ipBlock }: Peer, policy: Policy, seen: Seen): string[] {
  if (ipBlock !== undefined) return [`-s ${ipBlock.cidr} `]
  const names = new Set(
    namespaceSelector === undefined
      ? [policy.metadata.namespace]
      : seen.namespaces.filter(({ metadata }) => selects(namespaceSelector, metadata.labels)).map(nameOf),
  )
  return seen.pods
    .filter((pod) => names.has(pod.metadata.namespace) && selects(podSelector ?? {}, pod.metadata.labels))
    .filter(hasAddress)
    .map(({ status }) => `-s ${status.podIP} `)
}

const nameOf = ({ metadata }: Namespace) => metadata.name
