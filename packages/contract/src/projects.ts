import { z } from 'zod'
import type { QuotaSetting } from './quotas.ts'
import { line, ok, page, route, timestamp, uuid } from './route.ts'
import { tokenCap } from './usage.ts'

export const gitHosts = ['auto', 'plain', 'github'] as const

const sessionDepth = z.number().int().min(0).max(10)
const sessionCount = z.number().int().min(0).max(1000)
const firesPerHour = z.number().int().min(1).max(1800)
/** Null: the quota of the operator, which no project exceeds. */
const quota = z.number().int().min(1).max(Number.MAX_SAFE_INTEGER).nullable()
const quotas = {
  quota_repository_bytes: quota,
  quota_push_bytes: quota,
  quota_unfinished_work_bytes: quota,
  quota_transcript_bytes: quota,
  quota_check_log_bytes: quota,
  quota_app_archive_bytes: quota,
  quota_sessions_bytes: quota,
} satisfies Record<QuotaSetting, typeof quota>
const eachQuota = <T>(of: (one: typeof quota) => T) =>
  Object.fromEntries(Object.entries(quotas).map(([name, one]) => [name, of(one)])) as Record<QuotaSetting, T>

export const projectSettings = z.object({
  /** Whether agents may merge into the default branch. Kept in the database, never in svc.toml, which agents can edit. */
  agent_merge: z.enum(['deny', 'allow']).default('deny'),
  /** Whether a head with a broken svc.toml is refused at merge. */
  manifest_gate: z.enum(['off', 'on']).default('off'),
  /** Whether the repository's host has an API like GitHub's. `auto`: where the operator says so. */
  git_host: z.enum(gitHosts).default('auto'),
  /** Where that API is; null: at github.com its own, elsewhere `https://<host>/api/v3`. */
  git_api_url: z.string().nullable().default(null),
  /** Tokens of models, in and out together; null: no cap. */
  model_tokens_per_session: tokenCap.default(null),
  model_tokens_per_month: tokenCap.default(null),
  /** How deep agents start sessions: 1 is those that the session of a person starts. 0: none. */
  session_depth_max: sessionDepth.default(3),
  /** Living sessions that agents started from the same first session, directly or through each other. */
  session_descendants_max: sessionCount.default(10),
  /** Sessions that agents start from the same first session within an hour. */
  session_starts_per_hour_max: sessionCount.default(60),
  /** Living sessions that one webhook trigger started. */
  webhook_sessions_max: sessionCount.default(10),
  /** Sessions that one webhook trigger starts within an hour. */
  webhook_fires_per_hour_max: firesPerHour.default(120),
  ...eachQuota((one) => one.default(null)),
})
export type ProjectSettings = z.infer<typeof projectSettings>

export const project = z.object({
  project_id: uuid,
  account_id: uuid,
  slug: z.string(),
  name: z.string(),
  repo_url: z.string(),
  git_url: z.string(),
  default_branch: z.string(),
  managed: z.boolean(),
  config_dir: z.string(),
  /** The public half of the key the server made for this project: the host has to let it push. */
  ssh_public_key: z.string().nullable(),
  settings: projectSettings,
  created_at: timestamp,
  updated_at: timestamp,
})
export type Project = z.infer<typeof project>

/** A component is a file name in a repository, where git needs room for `.lock` behind it. */
const branchComponentBytesMax = 250

/** What git itself accepts as a branch name, checked without asking it: see git-check-ref-format(1). */
export const branchName = z
  .string()
  .trim()
  .min(1)
  .max(255)
  .refine(
    (name) =>
      !/[\x00-\x20\x7f~^:?*[\\]|\.\.|@\{|\/\/|^\/|\/$|\.$|\.lock$|\.lock\/|^\.|\/\./.test(name) &&
      name !== '@' &&
      name.isWellFormed(),
    'is not a valid branch name',
  )
  .refine(
    (name) => name.split('/').every((part) => new TextEncoder().encode(part).length <= branchComponentBytesMax),
    'has a part of more than 250 bytes',
  )

const name = line(100)

export const createProjectRoute = route({
  name: 'createProject',
  summary: 'Make a project from a git repository, or with a new managed one',
  method: 'POST',
  path: '/v1/projects',
  access: 'user',
  body: z.object({
    repo_url: z.string().trim().min(1).max(2048).optional(),
    name: name.optional(),
    /** The account it belongs to; left out, the oldest in which the caller may write. */
    account_id: uuid.optional(),
    default_branch: branchName.optional(),
    /** Password part of the host's credential; the user part is `x-access-token` unless `git_username` says otherwise. For ssh, a private key. */
    git_token: z.string().min(1).max(4096).optional(),
    git_username: z.string().min(1).max(200).optional(),
    /** For ssh: the server makes a key of the project's own, and its public half is in the answer. */
    git_ssh_key: z.literal('generate').optional(),
  }),
  status: 201,
  idempotent: true,
  reply: project,
})

export const listProjectsRoute = route({
  name: 'listProjects',
  summary: 'The projects of the accounts the caller belongs to, newest first',
  method: 'GET',
  path: '/v1/projects',
  access: 'user',
  query: page.extend({ account_id: z.string().optional() }),
  reply: z.array(project),
})

export const getProjectRoute = route({
  name: 'getProject',
  summary: 'One project',
  method: 'GET',
  path: '/v1/projects/:projectId',
  access: 'project-read',
  reply: project,
})

export const updateProjectRoute = route({
  name: 'updateProject',
  summary: 'Change a project: its name, its settings, the credential of its git host',
  method: 'PATCH',
  path: '/v1/projects/:projectId',
  access: 'project-admin',
  body: z.object({
    name: name.optional(),
    default_branch: branchName.optional(),
    git_token: z.string().min(1).max(4096).optional(),
    git_username: z.string().min(1).max(200).optional(),
    /** A new key in place of the one there is. */
    git_ssh_key: z.literal('generate').optional(),
    settings: z
      .object({
        agent_merge: z.enum(['deny', 'allow']).optional(),
        manifest_gate: z.enum(['off', 'on']).optional(),
        git_host: z.enum(gitHosts).optional(),
        git_api_url: z.string().trim().min(1).max(2048).nullable().optional(),
        model_tokens_per_session: tokenCap.optional(),
        model_tokens_per_month: tokenCap.optional(),
        session_depth_max: sessionDepth.optional(),
        session_descendants_max: sessionCount.optional(),
        session_starts_per_hour_max: sessionCount.optional(),
        webhook_sessions_max: sessionCount.optional(),
        webhook_fires_per_hour_max: firesPerHour.optional(),
        ...eachQuota((one) => one.optional()),
      })
      .optional(),
  }),
  reply: project,
})

export const deleteProjectRoute = route({
  name: 'deleteProject',
  summary: 'Delete a project with its change requests, sessions, secrets and its managed repository',
  method: 'DELETE',
  path: '/v1/projects/:projectId',
  access: 'project-admin',
  reply: ok,
})

export const manifestIssue = z.object({
  /** Keys and positions joined by dots; empty for the whole file. */
  path: z.string(),
  message: z.string(),
  severity: z.enum(['error', 'warning']),
  line: z.number().int().nullable(),
  column: z.number().int().nullable(),
})

export const validateManifestRoute = route({
  name: 'validateManifest',
  summary: 'What is wrong with a text as svc.toml; nothing of it is kept',
  method: 'POST',
  path: '/v1/projects/:projectId/manifest/validate',
  access: 'project-read',
  effect: 'adds',
  body: z.object({ raw: z.string() }),
  reply: z.object({ valid: z.boolean(), issues: z.array(manifestIssue) }),
})

export const getCloneCredentialRoute = route({
  name: 'getCloneCredential',
  summary: 'A git credential that lives 15 minutes and may write exactly the session branch',
  method: 'GET',
  path: '/v1/projects/:projectId/git/clone-credential',
  access: 'sandbox',
  reply: z.object({
    repo_url: z.string(),
    auth: z.object({ type: z.literal('basic'), username: z.literal('x-access-token'), token: z.string() }),
    expires_at: timestamp,
  }),
})
