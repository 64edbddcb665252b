import { z } from 'zod'
import { manifestIssue } from './projects.ts'
import { named, route, timestamp, uuid, wholeList } from '../route.ts'
import { repositoryErrors } from '../route-errors.ts'

/** The port (`PORT`) of an app whose entry names none. */
export const appPortDefault = 3000
export const appLogLinesMax = 5_000
export const appLogBytesMax = 1024 * 1024

export const appDeployStatuses = [
  'queued',
  'building',
  'starting',
  'running',
  'restarting',
  'replaced',
  'stopped',
  'failed',
  'cancelled',
] as const
export const appDeployStatus = z
  .enum(appDeployStatuses)
  .describe(
    '`queued`, `building`, `starting`: on its way. `running`, `restarting`: live. `replaced`, `stopped`: was live. `failed`: never live, or given up; `error` has the reason. `cancelled`: superseded by a deploy, a stop or the manifest.',
  )
export type AppDeployStatus = z.infer<typeof appDeployStatus>

export const appDeploy = named('AppDeploy', {
  deploy_id: uuid,
  number: z.number().int(),
  status: appDeployStatus,
  hash: z.string().describe('Identifies the manifest entry, the files it is built from, and the secrets it names.'),
  commit_sha: z.string(),
  cause: z.enum(['default_branch', 'request', 'rollback']),
  rollback_of: z.number().int().nullable().describe('The number of the deploy that this rollback repeats.'),
  error: z.string().nullable(),
  created_by: uuid.nullable(),
  created_at: timestamp,
  ready_at: timestamp.nullable(),
  ended_at: timestamp.nullable(),
})
export type AppDeploy = z.infer<typeof appDeploy>

export const appState = z
  .enum(['running', 'restarting', 'deploying', 'stopped', 'failed', 'disabled', 'off', 'waiting'])
  .describe('`off`: the operator turned deployment off. `disabled`: by svc.toml. `waiting`: never deployed.')
export type AppState = z.infer<typeof appState>

export const app = named('App', {
  slug: z.string(),
  state: appState,
  url: z
    .string()
    .describe('The address for members of the project. It redirects a browser without a ticket to the dashboard.'),
  enabled: z.boolean(),
  reason: z
    .string()
    .nullable()
    .describe('Why the app is in this state, and what to do about it; null when there is nothing to explain.'),
  command: z.string().nullable(),
  static_dir: z.string().nullable(),
  build: z.string().nullable(),
  port: z.number().int(),
  secrets: z.array(z.string()).describe('Names of the secrets that the manifest entry asks for.'),
  live: appDeploy.nullable().describe('The deploy that is served now.'),
  next: appDeploy.nullable().describe('The deploy that is about to take over.'),
  deploys: z.array(appDeploy).describe('Newest first.'),
})
export type App = z.infer<typeof app>

export const appLogLine = named('AppLogLine', {
  at: timestamp,
  stream: z.enum(['build', 'run', 'svc']).describe('`svc` marks lines of the service itself.'),
  text: z.string(),
})
export type AppLogLine = z.infer<typeof appLogLine>

const base = '/v1/projects/:projectId/apps'
const provider = z.enum(['local', 'none'])

export const listAppsRoute = route.get('project-read', base, {
  name: 'listApps',
  summary: 'List the apps of a project',
  description: 'In the order of svc.toml on the default branch. `errors` are the problems of their entries.',
  errors: [...repositoryErrors],
  ...wholeList('apps', 'slug'),
  reply: z.object({ apps: z.array(app), errors: z.array(manifestIssue), provider }),
})

export const getAppRoute = route.get('project-read', `${base}/:slug`, {
  name: 'getApp',
  summary: 'Get an app with its latest deploys',
  description: 'Deploys are newest first.',
  errors: [...repositoryErrors],
  reply: app,
})

export const deployAppRoute = route.post('project-write', `${base}/:slug/deploy`, {
  name: 'deployApp',
  summary: 'Deploy an app',
  description: 'From the default branch, also when the app was stopped. The response comes before the app is live.',
  errors: [...repositoryErrors, 'manifest_invalid', 'unprocessable', 'quota_exceeded'],
  effect: 'adds',
  status: 202,
  idempotent: true,
  reply: z.object({ app, deploy: appDeploy }),
})

export const stopAppRoute = route.post('project-write', `${base}/:slug/stop`, {
  name: 'stopApp',
  summary: 'Stop an app',
  description: 'It stays stopped until it is deployed again.',
  errors: [...repositoryErrors],
  effect: 'ends',
  reply: app,
})

export const rollbackAppRoute = route.post('project-write', `${base}/:slug/rollback`, {
  name: 'rollbackApp',
  summary: 'Roll an app back to an earlier deploy',
  description: 'To the last one that was live before this one, or to the one that `deploy` names by number or id.',
  errors: [...repositoryErrors, 'manifest_invalid', 'unprocessable', 'quota_exceeded'],
  effect: 'adds',
  body: z.object({ deploy: z.union([z.number().int().min(1).max(2_147_483_647), uuid]).optional() }).optional(),
  status: 202,
  idempotent: true,
  reply: z.object({ app, deploy: appDeploy }),
})

export const openAppRoute = route.get('project-read', `${base}/:slug/open`, {
  name: 'openApp',
  summary: 'Get the address of an app for one browser',
  description: 'The address works once, for the browser that opens it first.',
  reply: z.object({ url: z.string() }),
})

export const readAppLogsRoute = route.get('project-read', `${base}/:slug/logs`, {
  name: 'readAppLogs',
  summary: 'Read the log of an app',
  description:
    'Output of building and running. `follow=1` streams it as server-sent events: `line` for each line, `deploy` when the deploy or its status changes.',
  query: z.object({
    follow: z.enum(['0', '1', 'true', 'false']).default('0'),
    deploy: z.string().max(64).optional().describe('The number or id of a deploy. The default is the newest.'),
    lines: z.coerce.number().int().min(0).max(appLogLinesMax).default(500),
  }),
  replyTypes: ['application/json', 'text/event-stream'],
  event: z.union([appLogLine, appDeploy]),
  example: { query: { lines: '100' } },
  reply: named('AppLog', {
    deploy: appDeploy.nullable(),
    lines: z.array(appLogLine),
    truncated: z.boolean().describe('Whether there are lines before the first one.'),
  }),
})
