import { z } from 'zod'
import type { QuotaSetting } from '../schemas/quotas.ts'
import { line, named, ok, page, route, timestamp, uuid } from '../route.ts'
import { repositoryErrors } from '../route-errors.ts'
import { tokenCap } from './usage.ts'

export const gitHosts = ['auto', 'plain', 'github'] as const

const sessionDepth = z.number().int().min(0).max(10)
const sessionCount = z.number().int().min(0).max(1000)
const firesPerHour = z.number().int().min(1).max(1800)
/** Null: the operator's quota, which is also the maximum. */
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

export const projectSettings = named('ProjectSettings', {
  agent_merge: z.enum(['deny', 'allow']).default('deny').describe('Whether agents may merge into the default branch.'),
  manifest_gate: z
    .enum(['off', 'on'])
    .default('off')
    .describe('Whether a merge is refused when the svc.toml of the head is broken.'),
  git_host: z
    .enum(gitHosts)
    .default('auto')
    .describe("The API of the git host. `auto` follows the operator's configuration."),
  git_api_url: z
    .string()
    .nullable()
    .default(null)
    .describe('The address of that API. Null: the one of github.com, elsewhere `https://<host>/api/v3`.'),
  model_tokens_per_session: tokenCap
    .default(null)
    .describe('The token cap of one session, input and output together; null for none.'),
  model_tokens_per_month: tokenCap.default(null),
  session_depth_max: sessionDepth
    .default(3)
    .describe("How deep agents may start sessions: 1 allows those that a person's session starts, 0 none."),
  session_descendants_max: sessionCount
    .default(10)
    .describe('How many live sessions agents may start from the same first session, directly or indirectly.'),
  session_starts_per_hour_max: sessionCount
    .default(60)
    .describe('How many sessions per hour agents may start from the same first session.'),
  webhook_sessions_max: sessionCount.default(10).describe('How many live sessions one webhook trigger may have.'),
  webhook_fires_per_hour_max: firesPerHour
    .default(120)
    .describe('How many sessions per hour one webhook trigger may start.'),
  ...eachQuota((one) => one.default(null)),
})
export type ProjectSettings = z.infer<typeof projectSettings>

export const project = named('Project', {
  project_id: uuid,
  account_id: uuid,
  slug: z.string(),
  name: z.string(),
  repo_url: z.string(),
  git_url: z.string(),
  default_branch: z.string(),
  managed: z.boolean(),
  config_dir: z.string(),
  ssh_public_key: z
    .string()
    .nullable()
    .describe(
      'The public key that the git host has to accept for pushes; null when the project uses no key of the server.',
    ),
  settings: projectSettings,
  created_at: timestamp,
  updated_at: timestamp,
  deleted_at: timestamp.optional().describe('Only for deleted projects; `slug` is then the slug it had.'),
  purge_at: timestamp.optional().describe('Only for deleted projects: until then the project can be restored.'),
})
export type Project = z.infer<typeof project>

/** Git stores a component as a file name and appends `.lock` to it. */
const branchComponentBytesMax = 250

/** The rules of git-check-ref-format(1), checked without running git. */
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

export const createProjectRoute = route.post('user', '/v1/projects', {
  name: 'createProject',
  summary: 'Create a project',
  description:
    'With `repo_url`, from an existing git repository; without it, with a new repository that this server hosts. Members, admins and owners of the account may; viewers may not. The server reads the repository first: `repository_refused` contains the answer of the host.',
  errors: [
    ...repositoryErrors,
    'reserved_name',
    'branch_protected',
    'quota_exceeded',
    'limit_reached',
    'conflict',
    'unprocessable',
  ],
  body: z
    .object({
      repo_url: z.string().trim().min(1).max(2048).optional(),
      name: name.optional(),
      account_id: uuid.optional().describe('The default is the oldest account in which the caller may write.'),
      default_branch: branchName.optional(),
      git_token: z
        .string()
        .min(1)
        .max(4096)
        .optional()
        .describe("The password of the git host's credential, or a private key for ssh."),
      git_username: z.string().min(1).max(200).optional(),
      git_ssh_key: z
        .literal('generate')
        .optional()
        .describe('`generate`: the server creates an ssh key for this project and returns the public key.'),
    })
    .optional(),
  status: 201,
  idempotent: true,
  example: { body: { name: 'Website' } },
  reply: project,
})

export const listProjectsRoute = route.get('user', '/v1/projects', {
  name: 'listProjects',
  summary: 'List projects',
  description:
    'Newest first, from every account the caller belongs to. With `deleted=true`, the deleted projects that the caller can restore.',
  errors: ['not_found'],
  query: page.extend({
    account_id: z.string().optional(),
    deleted: z
      .enum(['true', 'false'])
      .optional()
      .describe('`true` lists the deleted projects that the caller can restore, the last deleted first.'),
  }),
  reply: z.array(project),
})

export const getProjectRoute = route.get('project-read', '/v1/projects/:projectId', {
  name: 'getProject',
  summary: 'Get a project',
  description:
    'The path takes the id or the slug. A slug that several accounts of the caller use is a `conflict`, and the answer lists the ids.',
  reply: project,
})

export const updateProjectRoute = route.patch('project-admin', '/v1/projects/:projectId', {
  name: 'updateProject',
  summary: 'Change a project',
  description:
    'Changes the name, the default branch, the settings, or the credential of the git host. A new credential is tested before it is saved.',
  errors: [...repositoryErrors, 'unprocessable', 'limit_reached'],
  body: z.object({
    name: name.optional(),
    default_branch: branchName.optional(),
    git_token: z.string().min(1).max(4096).optional(),
    git_username: z.string().min(1).max(200).optional(),
    git_ssh_key: z
      .literal('generate')
      .optional()
      .describe('`generate`: the server creates a new ssh key that replaces the current one.'),
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
  example: { body: { name: 'Web shop', settings: { agent_merge: 'deny', session_depth_max: 2 } } },
  reply: project,
})

export const deletedDaysKept = 30

export const deleteProjectRoute = route.delete('project-admin', '/v1/projects/:projectId', {
  name: 'deleteProject',
  summary: 'Delete a project',
  description: `The project can be restored for ${deletedDaysKept} days. \`purge=true\` deletes it permanently now; a project that is already deleted is purged by its id.`,
  deleted: 'too',
  query: z.object({
    purge: z
      .enum(['true', 'false'])
      .optional()
      .describe(
        '`true` deletes the project permanently. The path then needs the id of a project that is already deleted.',
      ),
  }),
  /** `purge_at` is null after a purge. */
  reply: ok.extend({ purge_at: timestamp.nullable() }),
})

export const restoreProjectRoute = route.post('project-admin', '/v1/projects/:projectId/restore', {
  name: 'restoreProject',
  summary: 'Restore a deleted project',
  description: 'The project gets its slug back, or the next free one.',
  errors: ['limit_reached'],
  deleted: 'alone',
  reply: project,
})

export const getProjectDeletionRoute = route.get('project-admin', '/v1/projects/:projectId/deletion', {
  name: 'getProjectDeletion',
  summary: 'Preview the deletion of a project',
  description: 'Counts the sessions, change requests and bytes that deletion stops and a purge removes.',
  deleted: 'too',
  reply: named('ProjectDeletion', {
    sessions: z.number().int(),
    live_sessions: z.number().int(),
    unpushed_sessions: z
      .number()
      .int()
      .describe('Sessions with unpushed work; for live sessions, as of the last save.'),
    change_requests: z.number().int(),
    open_change_requests: z.number().int(),
    repository_bytes: z
      .number()
      .int()
      .describe('What the server stores of the repository: all of a managed one, otherwise its mirror.'),
    deleted_at: timestamp.nullable().describe('Null while the project is not deleted.'),
    purge_at: timestamp.describe('When the server purges the project, or would if it were deleted now.'),
  }),
})
export type ProjectDeletion = z.infer<typeof getProjectDeletionRoute.reply>

export const manifestIssue = named('ManifestIssue', {
  path: z.string().describe('Keys and positions joined by dots; empty for the whole file.'),
  message: z.string(),
  severity: z.enum(['error', 'warning']),
  line: z.number().int().nullable(),
  column: z.number().int().nullable(),
})

export const validateManifestRoute = route.post('project-read', '/v1/projects/:projectId/manifest/validate', {
  name: 'validateManifest',
  summary: 'Validate a text as svc.toml',
  description: 'Nothing is stored. `issues` have line and column, counted from 1.',
  effect: 'adds',
  body: z.object({ raw: z.string() }),
  example: { body: { raw: 'svc_version = 1\n' } },
  reply: z.object({ valid: z.boolean(), issues: z.array(manifestIssue) }),
})

export const getCloneCredentialRoute = route.get('sandbox', '/v1/projects/:projectId/git/clone-credential', {
  name: 'getCloneCredential',
  summary: 'Get a git credential for the session branch',
  description: 'For sandboxes. The credential is valid for 15 minutes and may write only the branch of its session.',
  errors: [...repositoryErrors],
  reply: z.object({
    repo_url: z.string(),
    auth: z.object({ type: z.literal('basic'), username: z.literal('x-access-token'), token: z.string() }),
    expires_at: timestamp,
  }),
})
