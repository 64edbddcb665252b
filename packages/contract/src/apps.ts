import { z } from 'zod'
import { manifestIssue } from './projects.ts'
import { pageOfWhole, route, timestamp, uuid } from './route.ts'

/** The port an app is asked to listen on (`PORT`) when its entry names none. */
export const appPortDefault = 3000
export const appLogLinesMax = 5_000
/** Of the lines an app has written, what is kept of each deploy. */
export const appLogBytesMax = 1024 * 1024

/**
 * - `queued` `building` `starting`: on its way; what runs meanwhile goes on
 * - `running` `restarting`: it serves, or is being brought back
 * - `replaced` `stopped`: it served once
 * - `failed`: it never served, or was given up on; `error` says why
 * - `cancelled`: a newer deploy, a stop or the manifest was quicker
 */
export const appDeployStatuses = [
  ...(['queued', 'building', 'starting', 'running', 'restarting'] as const),
  ...(['replaced', 'stopped', 'failed', 'cancelled'] as const),
] as const
export const appDeployStatus = z.enum(appDeployStatuses)
export type AppDeployStatus = z.infer<typeof appDeployStatus>

export const appDeploy = z.object({
  deploy_id: uuid,
  number: z.number().int(),
  status: appDeployStatus,
  /** Of the manifest's entry, of the files it is made from and of the secrets it names. */
  hash: z.string(),
  commit_sha: z.string(),
  cause: z.enum(['default_branch', 'request', 'rollback']),
  /** The deploy a rollback went back to. */
  rollback_of: z.number().int().nullable(),
  error: z.string().nullable(),
  created_by: uuid.nullable(),
  created_at: timestamp,
  ready_at: timestamp.nullable(),
  ended_at: timestamp.nullable(),
})
export type AppDeploy = z.infer<typeof appDeploy>

/** `off`: the operator switched the deployment of apps off. `disabled`: svc.toml says so. `waiting`: nothing was deployed yet. */
export const appState = z.enum([
  ...['running', 'restarting', 'deploying', 'stopped', 'failed', 'disabled', 'off', 'waiting'],
] as const)
export type AppState = z.infer<typeof appState>

export const app = z.object({
  slug: z.string(),
  state: appState,
  /** Where members of the project see it. Opened without a ticket it sends a browser to the dashboard for one. */
  url: z.string(),
  enabled: z.boolean(),
  /** Why it is in that state, where that needs a reason, with what mends it. */
  reason: z.string().nullable(),
  command: z.string().nullable(),
  static_dir: z.string().nullable(),
  build: z.string().nullable(),
  port: z.number().int(),
  /** Names of the project's secrets that its entry asks for. */
  secrets: z.array(z.string()),
  /** What is served now. */
  live: appDeploy.nullable(),
  /** What is on its way to take over. */
  next: appDeploy.nullable(),
  /** Newest first. */
  deploys: z.array(appDeploy),
})
export type App = z.infer<typeof app>

export const appLogLine = z.object({
  at: timestamp,
  /** `svc`: the service itself, about what it does with the app. */
  stream: z.enum(['build', 'run', 'svc']),
  text: z.string(),
})
export type AppLogLine = z.infer<typeof appLogLine>

const base = '/v1/projects/:projectId/apps'
const provider = z.enum(['local', 'none'])

export const listAppsRoute = route({
  name: 'listApps',
  summary: 'The apps of svc.toml on the default branch, in its order, and what is wrong with them there',
  method: 'GET',
  path: base,
  access: 'project-read',
  query: pageOfWhole,
  pages: { list: 'apps', by: 'slug' },
  reply: z.object({ apps: z.array(app), errors: z.array(manifestIssue), provider }),
})

export const getAppRoute = route({
  name: 'getApp',
  summary: 'One app with its newest deploys',
  method: 'GET',
  path: `${base}/:slug`,
  access: 'project-read',
  reply: app,
})

export const deployAppRoute = route({
  name: 'deployApp',
  summary: 'Deploy an app from the default branch now, also one that was stopped',
  method: 'POST',
  path: `${base}/:slug/deploy`,
  access: 'project-write',
  effect: 'adds',
  status: 202,
  idempotent: true,
  reply: z.object({ app, deploy: appDeploy }),
})

export const stopAppRoute = route({
  name: 'stopApp',
  summary: 'Stop an app; it stays stopped until it is deployed again',
  method: 'POST',
  path: `${base}/:slug/stop`,
  access: 'project-write',
  effect: 'ends',
  reply: app,
})

export const rollbackAppRoute = route({
  name: 'rollbackApp',
  summary: 'Deploy what an earlier deploy was made from: the last that served before this one, or the one named',
  method: 'POST',
  path: `${base}/:slug/rollback`,
  access: 'project-write',
  effect: 'adds',
  body: z.object({ deploy: z.union([z.number().int().min(1).max(2_147_483_647), uuid]).optional() }).optional(),
  status: 202,
  idempotent: true,
  reply: z.object({ app, deploy: appDeploy }),
})

export const openAppRoute = route({
  name: 'openApp',
  summary: 'The address of an app for one browser: it works once, for the browser that opens it first',
  method: 'GET',
  path: `${base}/:slug/open`,
  access: 'project-read',
  reply: z.object({ url: z.string() }),
})

export const readAppLogsRoute = route({
  name: 'readAppLogs',
  summary: 'What building and running an app said; with follow=1 as server-sent events, one a line, that go on',
  method: 'GET',
  path: `${base}/:slug/logs`,
  access: 'project-read',
  query: z.object({
    follow: z.enum(['0', '1', 'true', 'false']).default('0'),
    /** Number or id; the newest when left out. */
    deploy: z.string().max(64).optional(),
    lines: z.coerce.number().int().min(0).max(appLogLinesMax).default(500),
  }),
  replyTypes: ['application/json', 'text/event-stream'],
  reply: z.object({
    deploy: appDeploy.nullable(),
    lines: z.array(appLogLine),
    /** There was more before the first line. */
    truncated: z.boolean(),
  }),
})
