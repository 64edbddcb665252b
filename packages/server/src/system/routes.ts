import type { MissingLimit } from '@svc/sandbox'
import { healthRoute, readyRoute, ServiceError } from '@svc/contract'
import { pingDatabase } from '../db/pool.ts'
import type { Deps } from '../deps.ts'
import { handle, type Mounted } from '../http/mount.ts'
import { modelCatalog } from '../model-catalog/catalog.ts'
import { version } from '../version.ts'

export function systemRoutes(deps: Deps): Mounted[] {
  return [
    handle(healthRoute, async () => ({ status: 'ok' as const, version })),
    handle(readyRoute, async () => {
      const { isReadOnly } = await ping(deps)
      return {
        status: 'ready' as const,
        version,
        held: deps.hold.held,
        sandbox: await sandboxReadiness(deps),
        model: (await modelCatalog(deps)).source === 'none' ? ('none' as const) : ('upstream' as const),
        disk: {
          ready: !deps.disk.isLow,
          problem: deps.disk.isLow ? 'The disk is almost full, so no new work is accepted.' : null,
        },
        // Reading goes on, also where a balancer asks before it sends requests here.
        database: {
          ready: !isReadOnly,
          problem: isReadOnly ? 'The database is read-only, so every change is refused.' : null,
        },
        providers: { apps: deps.config.appProvider, connectors: deps.config.connectorProvider },
      }
    }),
  ]
}

async function ping({ db }: Pick<Deps, 'db'>) {
  try {
    return await pingDatabase(db)
  } catch (error) {
    throw new ServiceError('unavailable', 'The database does not answer.', {
      hint: 'Try again in a moment.',
      cause: error,
    })
  }
}

interface Readiness {
  driver: string
  ready: boolean
  problem: string | null
  install: string | null
  missing_limits: MissingLimit[]
}

async function sandboxReadiness(deps: Pick<Deps, 'sandboxes'>): Promise<Readiness> {
  if (deps.sandboxes === null)
    return {
      driver: 'none',
      ready: false,
      problem: 'The server was started without a sandbox driver.',
      install: null,
      missing_limits: [],
    }
  const probe = await deps.sandboxes.probe()
  const driver = deps.sandboxes.name
  return probe.kind === 'ready'
    ? { driver, ready: true, problem: null, install: null, missing_limits: probe.missingLimits }
    : { driver, ready: false, problem: probe.problem, install: probe.install, missing_limits: [] }
}
