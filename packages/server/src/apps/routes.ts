import {
  deployAppRoute,
  getAppRoute,
  listAppsRoute,
  openAppRoute,
  readAppLogsRoute,
  rollbackAppRoute,
  stopAppRoute,
} from '@svc/contract'
import { notFound } from '../auth/allow.ts'
import type { Deps } from '../deps.ts'
import { handle, type Mounted } from '../http/mount.ts'
import { type Actor, boundSession } from '../auth/actor.ts'
import { requireReadable } from './log/agent-access.ts'
import { deployApp, rollbackApp, stopApp } from './actions.ts'
import { openOrigin } from '../sandboxes/private-origin.ts'
import { deployNamed, followLog, readLog } from './log/read.ts'
import { appOf, appsOf, refreshApps } from './read.ts'
import { getApp } from './store.ts'

export function appRoutes(deps: Deps): Mounted[] {
  const find = async (projectId: string, slug: string) => {
    const row = await getApp(deps.db, projectId, slug)
    if (row === null) throw notFound('app')
    return row
  }
  const shown = (actor: Actor, projectId: string, slug: string) =>
    appOf(deps, { projectId, slug, readerSessionId: boundSession(actor) })
  return [
    handle(listAppsRoute, async ({ project, request, caller }) => {
      const readerSessionId = boundSession(caller.actor)
      const { apps, errors } = await appsOf(deps, { project, readerSessionId, signal: request.signal })
      return { apps, errors, provider: deps.config.appProvider }
    }),
    handle(getAppRoute, async ({ project, params, request, caller }) => {
      await refreshApps(deps, project, request.signal)
      return shown(caller.actor, project.project_id, params.slug)
    }),
    handle(deployAppRoute, async ({ project, params, caller, request }) => {
      await refreshApps(deps, project, request.signal)
      const { slug } = params
      const deploy = await deployApp(deps, { project, slug, caller, deployId: request.resourceId })
      return { app: await shown(caller.actor, project.project_id, slug), deploy }
    }),
    handle(stopAppRoute, async ({ project, params, caller }) => {
      await stopApp(deps, { project, slug: params.slug, caller })
      return shown(caller.actor, project.project_id, params.slug)
    }),
    handle(rollbackAppRoute, async ({ project, params, caller, body, request }) => {
      const { slug } = params
      const deployId = request.resourceId
      const deploy = await rollbackApp(deps, { project, slug, caller, deployId, to: body?.deploy })
      return { app: await shown(caller.actor, project.project_id, slug), deploy }
    }),
    handle(openAppRoute, async ({ project, params, caller }) => {
      const { host: label, project_id, slug } = await find(project.project_id, params.slug)
      const by = { userId: caller.actor.user_id, tokenId: caller.actor.token_id }
      return { url: await openOrigin(deps, 'app_grants', { label, place: { project_id, slug } }, by) }
    }),
    handle(readAppLogsRoute, async ({ project, params, query, request, caller }) => {
      const app = await find(project.project_id, params.slug)
      const deploy = await deployNamed(deps, app, query.deploy)
      const readerSessionId = boundSession(caller.actor)
      await requireReadable(deps, readerSessionId, { app, deploy })
      if (query.follow !== '1' && query.follow !== 'true') return readLog(deps, deploy, query.lines)
      const pinned = query.deploy === undefined ? null : deploy
      const lastEventId = request.headers.get('last-event-id')
      const { signal } = request
      return followLog(deps, { app, pinned, readerSessionId, lines: query.lines, lastEventId, signal })
    }),
  ]
}
