/**
 * Does on the node of the test cluster what a network plugin and kube-proxy do: network policies, and the addresses of
 * services. `OPEN` in the cluster's folder turns the policies off.
 */
import { existsSync } from 'node:fs'

import { type Endpoints, endpointsPath, list, type Pod, readyOf, type Service } from './api.ts'
import { type Namespace, type Policy, policyRules } from './policies.ts'

const [packages = ''] = process.argv.slice(2)
const everyMs = 200

/** A connection to the address of a service goes to a random one of its ready pods. */
function serviceRules(services: Service[], slices: Endpoints[]): string[] {
  return services.flatMap((service) =>
    (service.spec.ports ?? []).flatMap((port) => {
      if (!/^\d/.test(service.spec.clusterIP)) return []
      const targets = readyOf(service, port, slices)
      return ['PREROUTING', 'OUTPUT'].flatMap((chain) =>
        targets.map((target, index) => {
          const chance = `-m statistic --mode random --probability ${(1 / (targets.length - index)).toFixed(5)}`
          const match = `-A ${chain} -d ${service.spec.clusterIP} -p tcp --dport ${port.port}`
          return `${match} ${index === targets.length - 1 ? '' : chance} -j DNAT --to-destination ${target}`
        }),
      )
    }),
  )
}

async function tables(): Promise<string> {
  const [services, slices, pods] = [
    await list<Service>('/api/v1/services'),
    await list<Endpoints>(endpointsPath),
    await list<Pod>('/api/v1/pods'),
  ]
  const policies = existsSync('OPEN') ? [] : await list<Policy>('/apis/networking.k8s.io/v1/networkpolicies')
  const namespaces = await list<Namespace>('/api/v1/namespaces')
  const answers = ['INPUT', 'FORWARD'].map((chain) => `-A ${chain} -m conntrack --ctstate ESTABLISHED -j ACCEPT`)
  return [
    ...['*filter', ':INPUT ACCEPT', ':FORWARD ACCEPT', ':OUTPUT ACCEPT'],
    ...answers,
    ...policyRules(policies, { pods, namespaces }),
    ...['COMMIT', '*nat', ':PREROUTING ACCEPT', ':OUTPUT ACCEPT', ':POSTROUTING ACCEPT'],
    ...serviceRules(services, slices),
    ...['COMMIT', ''],
  ].join('\n')
}

let applied = ''
for (;;) {
  const wanted = await tables().catch((error: unknown) => {
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
