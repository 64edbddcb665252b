/** The tools of the project: actions of the API with its access rules, for the user or session of the token. None of them merges. */
import { changeRequestStatuses, connectorPolicies, openChangeRequestRoute, sessionStatuses } from '@svc/contract'
import { z } from 'zod'
import { boundSession, type Caller, type ProjectActor, type UserActor } from '../auth/actor.ts'
import { type AuthorizedProject, notFound } from '../auth/allow.ts'
import { refuseOtherSession } from '../auth/session-control.ts'
import { openChangeRequest } from '../change-requests/open/open.ts'
import { previewChangeRequest } from '../change-requests/preview/preview.ts'
import { readChangeRequest, refreshTips } from '../change-requests/open/refresh-tips.ts'
import { listChangeRequests } from '../change-requests/list/list-store.ts'
import { presentChangeRequest } from '../change-requests/store.ts'
import { checksWithLogs } from '../checks/read.ts'
import { type Answer, textAnswer } from '../connectors/remote/answer.ts'
import { callConnectorTool } from '../connectors/calls/call.ts'
import { connectorIssues, connectorsOf, type ownToolNames } from '../connectors/read.ts'
import type { Deps } from '../deps.ts'
import { parseWith } from '../http/validation.ts'
import { readManifest } from '../projects/manifest.ts'
import { listSecrets } from '../secrets/store.ts'
import { neededSecrets } from '../secrets/uses.ts'
import { getSession, listSessions, requireSession } from '../sessions/store.ts'
import { presentInList, presentSession } from '../sessions/present.ts'
import { fireByHand } from '../triggers/fire-on-request.ts'
import { triggersOf } from '../triggers/read.ts'
import { presentTrigger } from '../triggers/store.ts'

export interface ToolContext {
  deps: Deps
  caller: Caller<UserActor | ProjectActor>
  project: AuthorizedProject
  signal: AbortSignal
  onProgress(): void
}

export interface OwnTool {
  name: (typeof ownToolNames)[number]
  description: string
  readOnly: boolean
  inputSchema: Record<string, unknown>
  run(context: ToolContext, args: Record<string, unknown>): Promise<Answer>
}

const shownMax = 50
const checkLinesShown = 100

function ownTool<S extends z.ZodObject>(
  def: Pick<OwnTool, 'name' | 'description' | 'readOnly'> & {
    input: S
    run(context: ToolContext, input: z.output<S>): Promise<unknown>
  },
): OwnTool {
  const { input, run, ...rest } = def
  const { $schema: _, ...inputSchema } = z.toJSONSchema(input, { io: 'input', unrepresentable: 'any' })
  return {
    ...rest,
    inputSchema,
    async run(context, args) {
      const answer = await run(context, parseWith(input, args, `input of ${def.name}`))
      return isAnswer(answer) ? answer : textAnswer(JSON.stringify(answer, null, 2))
    },
  }
}

const isAnswer = (value: unknown): value is Answer => typeof value === 'object' && value !== null && 'isError' in value

const openInput = openChangeRequestRoute.body!.omit({ session_id: true, head_ref: true }).extend({
  head_ref: openChangeRequestRoute.body!.shape.head_ref.optional(),
})

const numberInput = z.object({ number: z.int().min(1).max(2_147_483_647) })

export const ownTools: OwnTool[] = [
  ownTool({
    name: 'open_change_request',
    description:
      'Propose merging a pushed branch into the default branch. head_ref is the branch of this session unless given. Push first (git push origin HEAD). A person merges it.',
    readOnly: false,
    input: openInput,
    async run({ deps, caller, project, signal }, input) {
      const session = await ownSession(deps, project, caller)
      const head_ref = input.head_ref ?? session?.branch_name
      if (head_ref === undefined) return textAnswer('head_ref is needed: this token belongs to no session.', true)
      const session_id = session?.session_id ?? null
      const row = await openChangeRequest(deps, {
        ...input,
        head_ref,
        session_id,
        project,
        caller,
        crId: deps.newId(),
        signal,
      })
      return presentChangeRequest(row)
    },
  }),
  ownTool({
    name: 'show_change_request',
    description:
      'One change request by its number, with the merge preview while it is open: conflicts, fast-forward, effects.',
    readOnly: true,
    input: numberInput,
    async run({ deps, caller, project, signal }, { number }) {
      const row = await readChangeRequest(deps, project, (await numbered(deps, project, number)).cr_id)
      const preview =
        row.status === 'open'
          ? await previewChangeRequest(deps, { project, caller, crId: row.cr_id, include: ['effects'], signal })
          : null
      return { change_request: presentChangeRequest(row), preview }
    },
  }),
  ownTool({
    name: 'show_checks',
    description:
      'The check results of a change request, with the end of the logs of those that did not pass. Checks run on the merge result, and again after each push.',
    readOnly: true,
    input: numberInput,
    async run({ deps, project }, { number }) {
      return checksWithLogs(deps, project, await numbered(deps, project, number), checkLinesShown)
    },
  }),
  ownTool({
    name: 'list_change_requests',
    description: `The newest change requests, ${shownMax} at most.`,
    readOnly: true,
    input: z.object({ status: z.enum([...changeRequestStatuses, 'all']).default('open') }),
    async run({ deps, project }, { status }) {
      const { rows } = await listChangeRequests(deps.db, project.project_id, { limit: shownMax, status })
      return { change_requests: (await refreshTips(deps, project, rows)).map(presentChangeRequest) }
    },
  }),
  ownTool({
    name: 'list_secret_names',
    description: 'Names of the secrets of the project, and those svc.toml needs that are missing. Never a value.',
    readOnly: true,
    input: z.object({}),
    async run({ deps, project }) {
      const names = (await listSecrets(deps.db, project.project_id)).map(({ name }) => name)
      const manifest = await readManifest(deps, project)
      const missing = neededSecrets(manifest)
        .map(({ name }) => name)
        .filter((name) => !names.includes(name))
      return { names, required: manifest.env.required, missing }
    },
  }),
  ownTool({
    name: 'list_sessions',
    description: `The newest sessions of the project, ${shownMax} at most.`,
    readOnly: true,
    input: z.object({ status: z.enum([...sessionStatuses, 'all']).default('all') }),
    async run({ deps, project, caller }, { status }) {
      const { rows } = await listSessions(deps.db, project.project_id, { limit: shownMax, status })
      return { sessions: rows.map((row) => presentInList(deps.config, caller.actor, row)) }
    },
  }),
  ownTool({
    name: 'show_session',
    description: 'One session: status, branch, agent, error. An agent sees its own session and those it started.',
    readOnly: true,
    input: z.object({ session_id: z.string() }),
    async run({ deps, project, caller }, { session_id }) {
      const row = await requireSession(deps.db, project.project_id, session_id)
      refuseOtherSession(caller.actor, row)
      return presentSession(deps.config, row)
    },
  }),
  ownTool({
    name: 'list_triggers',
    description: 'The triggers of svc.toml on the default branch: when each fires next, and their errors.',
    readOnly: true,
    input: z.object({}),
    async run({ deps, project, signal }) {
      const { rows, errors } = await triggersOf(deps, project, signal)
      return { triggers: rows.map((row) => presentTrigger(deps.config, row)), errors }
    },
  }),
  ownTool({
    name: 'fire_trigger',
    description: 'Fire a trigger now. It starts a new session.',
    readOnly: false,
    input: z.object({ slug: z.string().max(64), message: z.string().trim().max(16_384).optional() }),
    async run({ deps, caller, project }, { slug, message }) {
      const request = { project, slug, caller, requestKey: deps.newId(), message: message || null }
      return { session_id: await fireByHand(deps, request), status: 'fired' }
    },
  }),
  ownTool({
    name: 'list_connectors',
    description: 'The connectors of the project with their tools and policies, and why some offer none right now.',
    readOnly: true,
    input: z.object({}),
    async run({ deps, project }) {
      const connectors = await connectorsOf(deps, project.project_id)
      const errors = await connectorIssues(deps, project.project_id)
      // Leaves out the name of the credential, which is of no use to an agent.
      const shown = connectors.map(({ slug, type, status, error, hint, policy, tools }) => ({
        slug,
        type,
        status,
        error,
        hint,
        policy,
        tools,
      }))
      return { connectors: shown, errors, policies: connectorPolicies }
    },
  }),
  ownTool({
    name: 'call_connector',
    description:
      'Call a tool of a connector that is missing from your list of tools because it was added later. The same rules apply.',
    readOnly: false,
    input: z.object({
      connector: z.string().max(64),
      tool: z.string().max(200),
      arguments: z.record(z.string(), z.unknown()).default({}),
    }),
    run: ({ deps, caller, project, signal, onProgress }, { connector, tool, arguments: args }) =>
      callConnectorTool(deps, { project, caller, slug: connector, tool, arguments: args, signal, onProgress }),
  }),
]

async function numbered(deps: Pick<Deps, 'db'>, project: AuthorizedProject, number: number) {
  const { rows } = await listChangeRequests(deps.db, project.project_id, { limit: 1, status: 'all', number })
  return rows[0] ?? Promise.reject(notFound('change request'))
}

async function ownSession(deps: Pick<Deps, 'db'>, project: AuthorizedProject, caller: Caller) {
  const sessionId = boundSession(caller.actor)
  return sessionId === null ? null : getSession(deps.db, project.project_id, sessionId)
}
