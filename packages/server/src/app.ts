/** Lists every resource's routes. The server and its tests both call buildApp. */
import { openApiDocument } from '@svc/contract/openapi'
import { errorClass, type Method, ServiceError } from '@svc/contract'
import { Hono } from 'hono'
import { accountRoutes } from './accounts/routes.ts'
import { invitationRoutes } from './accounts/invitations/routes.ts'
import { noticeRoutes } from './accounts/notices/routes.ts'
import { oidcRoutes } from './accounts/oidc/routes.ts'
import { appRoutes } from './apps/routes.ts'
import { refuseByPath } from './auth/allow.ts'
import { authenticate } from './auth/authenticate.ts'
import { reviewRoutes } from './change-requests/review/routes.ts'
import { refuseWhileHeld } from './backup/hold/refuse-while-held.ts'
import { changeRequestRoutes } from './change-requests/routes.ts'
import { channelIngressRoutes } from './channels/ingress/ingress.ts'
import { channelRoutes } from './channels/routes.ts'
import { connectorRoutes } from './connectors/routes.ts'
import { checkRoutes } from './checks/routes.ts'
import type { Deps } from './deps.ts'
import { eventRoutes } from './events/routes.ts'
import { promoteIngress } from './fleet/promote-ingress.ts'
import { doctorRoutes } from './doctor/routes.ts'
import { copyRoutes } from './fleet/routes.ts'
import { storageRoutes } from './retention/routes.ts'
import { serverRoutes } from './fleet/moves/routes.ts'
import { peerGitRoutes } from './fleet/peer-git.ts'
import { nameRoute } from './fleet/reachable.ts'
import { hostWebhookIngress } from './host-webhooks/ingress.ts'
import { hostWebhookRoutes } from './host-webhooks/routes.ts'
import { refuseForeignHost } from './http/admission/host-allow-list.ts'
import { methodsOf } from './http/known-paths.ts'
import { refuseInSandbox } from './http/admission/inside-sandbox.ts'
import { type App, mount } from './http/mount.ts'
import { type Answered, replyError } from './http/reply-error.ts'
import { withoutBodies } from './http/head-requests.ts'
import { requestLog } from './http/request-log.ts'
import { type AppContext, credentialsOf } from './http/request-info.ts'
import { inboxRoutes } from './inbox/routes.ts'
import { installRoutes } from './install/routes.ts'
import { mcpRoutes } from './mcp/routes.ts'
import { metricsRoutes } from './metrics/routes.ts'
import { modelRoutes } from './models/routes.ts'
import { modelSettingRoutes } from './models/upstreams/setting-routes.ts'
import { usageRoutes } from './models/usage/usage.ts'
import { docsRoutes } from './page/docs.ts'
import { dashboardRoutes, noSuchPage, wantsPage } from './page/routes.ts'
import { gitGatewayRoutes } from './projects/git-gateway.ts'
import { projectRoutes } from './projects/routes.ts'
import { replicaIngress } from './projects/replicas/ingress.ts'
import { questionRoutes } from './questions/routes.ts'
import { searchRoutes } from './search/routes.ts'
import { inspectPushes } from './secrets/inspect-push.ts'
import { secretRoutes } from './secrets/routes.ts'
import { sandboxEdgeRoutes } from './sessions/edge/sandbox-url.ts'
import { unfinishedBytesOf } from './sessions/unfinished-work/snapshot-store.ts'
import { sessionRoutes } from './sessions/routes.ts'
import { systemRoutes } from './system/routes.ts'
import { tokenRoutes } from './tokens/routes.ts'
import { triggerRoutes } from './triggers/routes.ts'
import { triggerIngress } from './triggers/webhook/ingress.ts'
import { version } from './version.ts'
import { webhookRoutes } from './webhooks/routes.ts'

export function buildApp(deps: Deps): App {
  const app: App = new Hono()
  app.use(requestLog(deps))
  app.use(withoutBodies())
  nameRoute(app, deps)
  peerGitRoutes(app, deps)
  app.use(refuseForeignHost(deps))
  app.use(refuseInSandbox())
  app.use(refuseWhileHeld(deps))
  let document: string | null = null
  app.get('/v1/openapi.json', (c) => {
    document ??= JSON.stringify(openApiDocument(version))
    return c.body(document, { headers: { 'content-type': 'application/json' } })
  })
  mount(app, deps, [
    ...systemRoutes(deps),
    ...serverRoutes(deps),
    ...copyRoutes(deps),
    ...storageRoutes(deps),
    ...doctorRoutes(deps),
    ...accountRoutes(deps),
    ...invitationRoutes(deps),
    ...noticeRoutes(deps),
    ...tokenRoutes(deps),
    ...projectRoutes(deps),
    ...secretRoutes(deps),
    ...sessionRoutes(deps),
    ...changeRequestRoutes(deps),
    ...reviewRoutes(deps),
    ...checkRoutes(deps),
    ...triggerRoutes(deps),
    ...usageRoutes(deps),
    ...modelSettingRoutes(deps),
    ...eventRoutes(deps),
    ...channelRoutes(deps),
    ...webhookRoutes(deps),
    ...appRoutes(deps),
    ...hostWebhookRoutes(deps),
    ...connectorRoutes(deps),
    ...questionRoutes(deps),
    ...inboxRoutes(deps),
    ...searchRoutes(deps),
  ])
  gitGatewayRoutes(app, deps, {
    inspect: (...of) => inspectPushes(deps, ...of),
    unfinishedBytes: (projectId) => unfinishedBytesOf(deps.db, projectId),
  })
  replicaIngress(app, deps)
  promoteIngress(app, deps)
  triggerIngress(app, deps)
  hostWebhookIngress(app, deps)
  channelIngressRoutes(app, deps)
  modelRoutes(app, deps)
  mcpRoutes(app, deps)
  sandboxEdgeRoutes(app, deps)
  installRoutes(app, deps)
  metricsRoutes(app, deps)
  oidcRoutes(app, deps)
  docsRoutes(app)
  dashboardRoutes(app, deps)
  app.notFound((c) => unknownRoute(deps, c))
  app.onError((error, c) => replyError(error, { id: c.get('requestId'), method: c.req.method, path: c.req.path }, deps))
  return app
}

function methodRefused(methods: Method[], request: Answered, deps: Deps): Response {
  const error = new ServiceError('method_not_allowed', `This route only answers ${methods.join(' and ')}.`, {
    hint: 'GET /v1/openapi.json lists every route with its methods.',
  })
  const reply = replyError(error, request, deps)
  reply.headers.set('allow', methods.join(', '))
  return reply
}

/** An unknown path is authorized like a known one, so a caller without access learns nothing about what exists. */
async function unknownRoute(deps: Deps, c: AppContext): Promise<Response> {
  if (wantsPage(c.req.raw)) return noSuchPage(deps, c.req.raw)
  const request = { id: c.get('requestId'), method: c.req.method, path: c.req.path }
  try {
    if (c.req.path.startsWith('/v1/accounts') || c.req.path.startsWith('/v1/projects'))
      refuseByPath(await authenticate(deps, credentialsOf(c.req.raw)), c.req.path)
    const methods = methodsOf(c.req.path)
    if (methods.length > 0) return methodRefused(methods, request, deps)
    throw new ServiceError('not_found', 'There is no such route.', { hint: 'GET /v1/openapi.json lists them all.' })
  } catch (error) {
    if (error instanceof ServiceError && errorClass(error.code) === 'internal') deps.log.error({ err: error })
    return replyError(error, request, deps)
  }
}
