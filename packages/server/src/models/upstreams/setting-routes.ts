import { clearModelUpstreamRoute, getModelUpstreamRoute, listModelsRoute, setModelUpstreamRoute } from '@svc/contract'
import type { Deps } from '../../deps.ts'
import { handle, type Mounted } from '../../http/mount.ts'
import { listedModels, modelCatalog } from '../../model-catalog/catalog.ts'
import { clearUpstream, readUpstream, setUpstream } from './set-upstream.ts'

export function modelSettingRoutes(deps: Deps): Mounted[] {
  return [
    handle(listModelsRoute, async () => ({ models: listedModels(await modelCatalog(deps)) })),
    handle(getModelUpstreamRoute, ({ caller }) => readUpstream(deps, caller)),
    handle(setModelUpstreamRoute, ({ body, caller, request }) =>
      setUpstream(deps, { ...body, caller, signal: request.signal }),
    ),
    handle(clearModelUpstreamRoute, async ({ caller }) => {
      await clearUpstream(deps, caller)
      return { ok: true as const }
    }),
  ]
}
