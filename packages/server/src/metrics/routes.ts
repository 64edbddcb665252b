/** `GET /metrics`: Prometheus text for this machine, or for callers with the operator's metrics token. */
import { ServiceError } from '@svc/contract'
import { Gauge, Registry } from 'prom-client'
import { isSameSecret } from '../auth/credentials.ts'
import { pingDatabase } from '../db/pool.ts'
import type { Deps } from '../deps.ts'
import { examineKey } from '../doctor/examine-key.ts'
import type { App } from '../http/mount.ts'
import { type AppContext, clientAddress } from '../http/request-info.ts'
import { readFigures } from './figure-queries.ts'

export function metricsRoutes(app: App, deps: Deps): void {
  app.get('/metrics', async (c) => {
    requireOperator(deps, c)
    const shared = await databaseMetrics(deps)
    const body = await Registry.merge([deps.metrics.registry, shared]).metrics()
    return new Response(body, {
      headers: { 'content-type': deps.metrics.registry.contentType, 'cache-control': 'no-store' },
    })
  })
}

const loopback = /^(127\.\d+\.\d+\.\d+|::1)$/
const forwardingHeader = /^(forwarded|via|x-real-ip|x-forwarded-.+|cf-.+|true-client-ip)$/
/** A proxy without forwarding headers sends the public name or the name of its upstream. */
const loopbackHost = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])(:\d+)?$/

/** A request through a proxy on this machine comes from elsewhere, whether or not the proxy is trusted. */
function requireOperator({ config }: Pick<Deps, 'config'>, c: AppContext): void {
  const sent = /^Bearer (.+)$/i.exec(c.req.header('authorization') ?? '')?.[1]
  if (config.metricsToken !== null && sent !== undefined && isSameSecret(sent, config.metricsToken)) return
  const isProxied =
    !loopbackHost.test(c.req.header('host') ?? '') ||
    Object.keys(c.req.header()).some((name) => forwardingHeader.test(name.toLowerCase()))
  if (sent === undefined && !isProxied && loopback.test(clientAddress(c))) return
  throw new ServiceError('forbidden', 'Metrics are for the operator of this server.', {
    hint: "Send the request from the server's machine, or set SVC_METRICS_TOKEN and send `Authorization: Bearer <token>`.",
  })
}

/** Also answers while the database is down, which is when an operator needs it. */
async function databaseMetrics(deps: Pick<Deps, 'config' | 'db' | 'disk' | 'log'>): Promise<Registry> {
  const registry = new Registry()
  const add = (name: string, help: string, label: string, values: Record<string, number>) => {
    const gauge = new Gauge({ name, help, labelNames: label === '' ? [] : [label], registers: [registry] })
    for (const [key, value] of Object.entries(values)) gauge.set(label === '' ? {} : { [label]: key }, value)
  }
  add('svc_disk_free_bytes', 'Free space of the data folder.', '', { '': deps.disk.freeBytes })
  add('svc_disk_low', '1 while the disk is almost full and new work is refused.', '', { '': deps.disk.isLow ? 1 : 0 })
  try {
    const { isReadOnly } = await pingDatabase(deps.db)
    const writable = '1 when the database accepts changes, 0 while it is read-only.'
    add('svc_database_writable', writable, '', { '': isReadOnly ? 0 : 1 })
    for (const [name, { help, label, values }] of Object.entries(await readFigures(deps.db)))
      add(name, help, label, values)
    const key = await examineKey(deps.config, deps.db)
    const help =
      '1 while the file of the master key is missing or does not open the database, so that the next start fails.'
    add('svc_master_key_missing', help, '', { '': key?.state === 'missing' ? 1 : 0 })
    add('svc_database_up', '1 when the database answered this scrape.', '', { '': 1 })
  } catch (error) {
    deps.log.warn({ err: error }, 'failed to read database figures for /metrics')
    add('svc_database_up', '1 when the database answered this scrape.', '', { '': 0 })
  }
  return registry
}
