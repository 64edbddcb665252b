/** What an ingress controller does, in the network of the test cluster: sends each request of an Ingress to a random ready pod. Prints its address. */
import { startBalancer } from '../e2e/balancer.ts'
import { type Endpoints, endpointsPath, list, readyOf, type Service } from './api.ts'

interface Ingress {
  metadata: { namespace: string }
  spec: {
    rules: { host: string; http: { paths: { backend: { service: { name: string; port: { name: string } } } }[] } }[]
  }
}

const everyMs = 100
const balancer = await startBalancer()
let hosts: string[] = []
balancer.takes = (host) => {
  const name = host.replace(/:\d+$/, '')
  return hosts.some((rule) => rule === name || (rule.startsWith('*.') && name.replace(/^[^.]+/, '*') === rule))
}
console.log(new URL(balancer.url).host)

for (;;) {
  const [ingress] = await list<Ingress>('/apis/networking.k8s.io/v1/ingresses')
  const { namespace } = ingress?.metadata ?? {}
  const backend = ingress?.spec.rules[0]?.http.paths[0]?.backend.service
  const service = (await list<Service>('/api/v1/services')).find(
    ({ metadata }) => metadata.name === backend?.name && metadata.namespace === namespace,
  )
  const port = service?.spec.ports?.find(({ name }) => name === backend?.port.name)
  hosts = ingress?.spec.rules.map(({ host }) => host) ?? []
  balancer.servers =
    service === undefined || port === undefined
      ? []
      : readyOf(service, port, await list<Endpoints>(endpointsPath)).map((address) => `http://${address}`)
  await Bun.sleep(everyMs)
}
