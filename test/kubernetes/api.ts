/** The API server, as the programs inside the cluster's namespaces reach it. Their folder is the cluster's. */
import { readFileSync } from 'node:fs'

const ca = readFileSync('pki/ca.crt', 'utf8')
const token = readFileSync('pki/tokens.csv', 'utf8').split(',')[0]

export async function get(path: string): Promise<Response> {
  return fetch(`https://127.0.0.1:6443${path}`, { headers: { authorization: `Bearer ${token}` }, tls: { ca } })
}

/** As the API server has them in memory, which costs it little. */
export async function list<Item>(path: string): Promise<Item[]> {
  return ((await (await get(`${path}?resourceVersion=0`)).json()) as { items?: Item[] }).items ?? []
}

export interface Pod {
  metadata: { namespace: string; name: string; labels?: Record<string, string> }
  status: { podIP?: string; phase: string }
}

export interface Service {
  metadata: { namespace: string; name: string }
  spec: { clusterIP: string; ports?: { name?: string; port: number }[] }
}

/** The pods of a service, or some of them. */
export interface Endpoints {
  metadata: { namespace: string; labels?: Record<string, string> }
  ports: { name?: string; port: number }[] | null
  endpoints: { addresses: string[]; hostname?: string; conditions?: { ready?: boolean } }[] | null
}

export const endpointsPath = '/apis/discovery.k8s.io/v1/endpointslices'

/** Addresses and ports of the ready pods behind a port of a service. */
export function readyOf(service: Service, port: { name?: string }, slices: Endpoints[]): string[] {
  const found = slices.flatMap(({ metadata, ports, endpoints }) => {
    const isOf = metadata.labels?.['kubernetes.io/service-name'] === service.metadata.name
    const target = (ports ?? []).find(({ name }) => (name ?? '') === (port.name ?? ''))
    if (!isOf || metadata.namespace !== service.metadata.namespace || target === undefined) return []
    const ready = (endpoints ?? []).filter(({ conditions }) => conditions?.ready !== false)
    return ready.flatMap(({ addresses }) => addresses.map((address) => `${address}:${target.port}`))
  })
  return [...new Set(found)].sort()
}
