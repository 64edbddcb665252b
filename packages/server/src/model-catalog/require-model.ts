import { scriptedModelName, ServiceError } from '@svc/contract'
import type { Deps } from '../deps.ts'
import { type ModelCatalog, modelCatalog, offersModel } from './catalog.ts'

/** The page where an owner of the instance sets the model. */
export const modelPagePath = '/settings/model'

export async function requireModel(deps: Pick<Deps, 'config' | 'db'>, model: string | null): Promise<void> {
  if (model === scriptedModelName) return
  requireSome(deps, await modelCatalog(deps))
}

/** Also requires a chosen model to be configured. `from` names the place of the choice. */
export async function requireModelChoice(
  deps: Pick<Deps, 'config' | 'db'>,
  chosen: { model: string | null; from: string; needed: boolean },
): Promise<void> {
  const { model, from, needed } = chosen
  if (model === scriptedModelName) return
  const catalog = await modelCatalog(deps)
  if (needed) requireSome(deps, catalog)
  if (model === null || catalog.source === 'none' || offersModel(catalog, model)) return
  throw new ServiceError(
    'model_not_found',
    `The model ${JSON.stringify(model)} that ${from} chooses is not configured on this server.`,
    {
      hint: `Choose one of: ${catalog.names.join(', ')}. An owner of this server can add others.`,
      detail: { models: catalog.names, issues: [{ path: 'model', message: 'is not configured' }] },
    },
  )
}

function requireSome({ config }: Pick<Deps, 'config'>, catalog: ModelCatalog): void {
  if (catalog.source !== 'none') return
  throw new ServiceError('no_model', 'No model is configured on this server, so no agent can work.', {
    hint: [
      `An owner of this server sets one at ${config.publicUrl}${modelPagePath},`,
      'or on its machine: svc self-host env set SVC_LLM_UPSTREAM_URL=<url> SVC_LLM_UPSTREAM_KEY=<key> SVC_LLM_MODEL=<name>, for a server of svc self-host start or a service of svc self-host unit.',
      'A server that npm start, another service or a container runs has these settings in its own environment.',
      `To try the service without one, choose the demo model, which is a script: svc sessions new --model ${scriptedModelName} --prompt 'Show me'`,
    ].join(' '),
  })
}
