/** The name server of the test cluster: names of services, and of the pods of headless ones. */
import { createSocket } from 'node:dgram'

import { type Endpoints, endpointsPath, list, type Service } from './api.ts'

const [address = ''] = process.argv.slice(2)
const zone = '.svc.cluster.local'
/** As kubeadm configures it. */
const ttlSeconds = 30
const typeA = 1
const noSuchName = 3

async function addressesOf(name: string): Promise<string[] | null> {
  if (!name.endsWith(zone)) return null
  const [namespace, service, host] = name.slice(0, -zone.length).split('.').reverse()
  const found = (await list<Service>('/api/v1/services')).find(
    ({ metadata }) => metadata.name === service && metadata.namespace === namespace,
  )
  if (found === undefined) return null
  if (found.spec.clusterIP !== 'None') return host === undefined ? [found.spec.clusterIP] : null
  const slices = (await list<Endpoints>(endpointsPath)).filter(
    ({ metadata }) => metadata.namespace === namespace && metadata.labels?.['kubernetes.io/service-name'] === service,
  )
  const pods = slices
    .flatMap(({ endpoints }) => endpoints ?? [])
    .filter(({ hostname, conditions }) => conditions?.ready !== false && (host === undefined || hostname === host))
  return pods.length === 0 ? null : pods.flatMap(({ addresses }) => addresses)
}

function nameOf(question: Buffer): { name: string; end: number } {
  const labels: string[] = []
  let at = 12
  for (let length = question[at]!; length > 0; length = question[at]!) {
    labels.push(question.toString('latin1', at + 1, at + 1 + length))
    at += 1 + length
  }
  return { name: labels.join('.').toLowerCase(), end: at + 5 }
}

async function answer(question: Buffer): Promise<Buffer> {
  const { name, end } = nameOf(question)
  const found = await addressesOf(name)
  const records = question.readUInt16BE(end - 4) === typeA ? (found ?? []) : []
  const head = Buffer.from(question.subarray(0, 12))
  // An authoritative answer, with recursion as it was asked for.
  head.writeUInt16BE(0x8480 | (question.readUInt16BE(2) & 0x0100) | (found === null ? noSuchName : 0), 2)
  head.writeUInt16BE(1, 4)
  head.writeUInt16BE(records.length, 6)
  head.writeUInt32BE(0, 8)
  const body = records.map((record) => {
    const bytes = Buffer.alloc(16)
    // The name is that of the question.
    bytes.writeUInt16BE(0xc00c, 0)
    bytes.writeUInt16BE(typeA, 2)
    bytes.writeUInt16BE(1, 4)
    bytes.writeUInt32BE(ttlSeconds, 6)
    bytes.writeUInt16BE(4, 10)
    record.split('.').forEach((part, index) => bytes.writeUInt8(Number(part), 12 + index))
    return bytes
  })
  return Buffer.concat([head, question.subarray(12, end), ...body])
}

const socket = createSocket('udp4')
socket.on('message', (question, { port, address: from }) => {
  answer(question).then(
    (reply) => socket.send(reply, port, from),
    (error: unknown) => console.error(String(error)),
  )
})
socket.bind(53, address)
