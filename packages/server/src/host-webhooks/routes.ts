import { getHostWebhookRoute, rotateHostWebhookRoute } from '@svc/contract'
import type { Deps } from '../deps.ts'
import { handle, type Mounted } from '../http/mount.ts'
import { readHostWebhook, rotateHostWebhook } from './settings.ts'

export function hostWebhookRoutes(deps: Deps): Mounted[] {
  return [
    handle(getHostWebhookRoute, async ({ project }) => readHostWebhook(deps, project)),
    handle(rotateHostWebhookRoute, async ({ project, caller, request }) =>
      request.isRepetition ? readHostWebhook(deps, project) : rotateHostWebhook(deps, { project, caller }),
    ),
  ]
}
