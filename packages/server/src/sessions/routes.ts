import {
  abortSessionRoute,
  bundleUnfinishedWorkRoute,
  cancelPromptRoute,
  createSessionRoute,
  deleteProjectRoute,
  deleteSessionRoute,
  getAttachmentRoute,
  getCloneCredentialRoute,
  getPreviewRoute,
  getSessionChangesRoute,
  getSessionFilesRoute,
  getSessionRoute,
  getTimelineRoute,
  getTranscriptRoute,
  getUnfinishedWorkRoute,
  listPortsRoute,
  listPromptsRoute,
  listSessionsRoute,
  listUnfinishedWorkRoute,
  promptSessionRoute,
  recoverUnfinishedWorkRoute,
  refreshSessionRoute,
  restartSessionRoute,
  type Route,
  saveUnfinishedWorkRoute,
  settleUnfinishedWorkRoute,
  stopSessionRoute,
  streamSessionEventsRoute,
  updateSessionRoute,
} from '@svc/contract'
import { recordAudit } from '../audit/record.ts'
import { controlledOf } from '../auth/session-control.ts'
import type { Deps } from '../deps.ts'
import { handle, type Input, type Mounted } from '../http/mount.ts'
import type { ProjectRow } from '../projects/store.ts'
import { Page } from '../http/page.ts'
import { redactorOfPrompts } from '../secrets/redactor-for.ts'
import { serveAttachment } from './attachments/serve.ts'
import { readAttachments } from './attachments/ingest.ts'
import { auditOf } from './audit.ts'
import { apiUrlInSandbox } from './lifecycle/boot-environment.ts'
import { createSession } from './create/create.ts'
import { mintCloneCredential } from './lifecycle/credentials.ts'
import { deleteProject, purgeProject } from './delete-project.ts'
import { streamSessionEvents } from './conversation/events.ts'
import { openOrigin } from '../sandboxes/private-origin.ts'
import { cancelPrompt, redactPrompt } from './conversation/cancel-prompt.ts'
import { abortSession, promptSession } from './conversation/prompt.ts'
import { listPrompts } from './conversation/prompt-store.ts'
import { refreshSession } from './refresh/refresh.ts'
import { deleteSession, restartSession, stopSession } from './lifecycle/stop.ts'
import { phasesOf } from './lifecycle/store.ts'
import { getSession, listSessions, requireSession, type SessionWithSandbox, updateSession } from './store.ts'
import { presentInList, presentSession } from './present.ts'
import { listPorts } from './edge/ports.ts'
import { readSessionFiles } from './files/read.ts'
import { readChanges } from './unfinished-work/changes.ts'
import { readNewestWip, recoverWip, saveWipNow, markWipRecovered } from './unfinished-work/recover.ts'
import { readTranscript } from './conversation/message-store.ts'
import { listWip, streamWip } from './unfinished-work/wip.ts'

export function sessionRoutes(deps: Deps): Mounted[] {
  return [...lifecycleRoutes(deps), ...conversationRoutes(deps), ...unfinishedWorkRoutes(deps), ...accessRoutes(deps)]
}

/** Finds the session of the path first. */
function sessionHandler(deps: Deps) {
  return <R extends Route>(
    route: R,
    run: (input: Input<NoInfer<R>> & { session: SessionWithSandbox }) => ReturnType<Parameters<typeof handle<R>>[1]>,
  ) =>
    handle(route, async (input) => {
      const { project, params } = input as unknown as { project: ProjectRow; params: { sessionId: string } }
      return run({ ...input, session: await requireSession(deps.db, project.project_id, params.sessionId) })
    })
}

function lifecycleRoutes(deps: Deps): Mounted[] {
  const onSession = sessionHandler(deps)
  const present = (session: SessionWithSandbox) => presentSession(deps.config, session)
  return [
    handle(createSessionRoute, async ({ project, caller, body, request }) => {
      const attachments = readAttachments(deps, body?.attachments ?? [])
      const made = { ...body, attachments, project, caller, sessionId: request.resourceId }
      const session = await createSession(deps, made)
      deps.sessions.enqueue(session.session_id)
      return present(session)
    }),
    handle(listSessionsRoute, async ({ project, query, caller }) => {
      const { rows, next } = await listSessions(deps.db, project.project_id, query)
      return new Page(
        rows.map((row) => presentInList(deps.config, caller.actor, row, query.include)),
        next,
      )
    }),
    onSession(getSessionRoute, async ({ session, query }) => presentSession(deps.config, session, query.include)),
    onSession(updateSessionRoute, async ({ project, session, body, caller }) => {
      await deps.db.transaction().execute(async (trx) => {
        await updateSession(trx, session.session_id, {
          ...(body.name === undefined ? {} : { name: body.name }),
          ...(body.metadata === undefined ? {} : { metadata: JSON.stringify(body.metadata) }),
        })
        const before = { name: session.name, metadata: session.metadata }
        await recordAudit(trx, caller, auditOf(session, 'update', { before, after: body }))
      })
      return present((await getSession(deps.db, project.project_id, session.session_id)) ?? session)
    }),
    onSession(stopSessionRoute, async ({ session, query, caller }) =>
      present(await stopSession(deps, { session, caller, discard: query.discard === 'true' })),
    ),
    onSession(restartSessionRoute, async ({ session, query, body, caller }) =>
      present(await restartSession(deps, { session, caller, agent: body?.agent, discard: query.discard === 'true' })),
    ),
    onSession(refreshSessionRoute, async ({ session, caller }) =>
      present(await refreshSession(deps, { session, caller })),
    ),
    onSession(deleteSessionRoute, async ({ session, query, caller }) => {
      await deleteSession(deps, { session, caller, discard: query.discard === 'true' })
      return { ok: true }
    }),
    onSession(getTimelineRoute, async ({ session }) => ({
      phases: await phasesOf(deps.db, session.session_id, session.generation),
    })),
    // Deleting a project ends its sandboxes first, so the route belongs to sessions.
    handle(deleteProjectRoute, async ({ project, caller, query }) => {
      if (query.purge === 'true') {
        await purgeProject(deps, { project, caller })
        return { ok: true as const, purge_at: null }
      }
      const { purgeAt } = await deleteProject(deps, { project, caller })
      return { ok: true as const, purge_at: purgeAt.toISOString() }
    }),
  ]
}

function conversationRoutes(deps: Deps): Mounted[] {
  const onSession = sessionHandler(deps)
  return [
    onSession(promptSessionRoute, async ({ session, body, caller, request }) => {
      const attachments = readAttachments(deps, body.attachments ?? [])
      const { text, agent, model } = body
      return promptSession(deps, { session, caller, promptId: request.resourceId, text, attachments, agent, model })
    }),
    onSession(getAttachmentRoute, async ({ project, session, params, caller }) => {
      const { session_id: sessionId } = session
      return serveAttachment(deps, { project, sessionId, attachmentId: params.attachmentId, caller })
    }),
    onSession(listPromptsRoute, async ({ project, session, query, caller }) => {
      const { session_id: sessionId } = session
      const { prompts, next } = await listPrompts(deps.db, sessionId, query)
      // The texts of waiting prompts are not redacted yet.
      const redactor = await redactorOfPrompts(deps, project, { sessionId, caller })
      return new Page({ prompts: prompts.map((prompt) => redactPrompt(prompt, redactor)) }, next)
    }),
    onSession(cancelPromptRoute, async ({ project, session, params, caller }) =>
      cancelPrompt(deps, { project, session, caller, promptId: params.promptId }),
    ),
    onSession(abortSessionRoute, async ({ session, caller }) => {
      await abortSession(deps, { session, caller })
      return { ok: true }
    }),
    onSession(getTranscriptRoute, async ({ session, query }) => {
      const { messages, next } = await readTranscript(deps.db, session.session_id, query)
      return new Page({ messages }, next)
    }),
    onSession(streamSessionEventsRoute, async ({ session, query, request }) =>
      streamSessionEvents(deps, session, {
        signal: request.signal,
        lastEventId: request.headers.get('last-event-id'),
        messages: query.messages,
      }),
    ),
  ]
}

function unfinishedWorkRoutes(deps: Deps): Mounted[] {
  const onSession = sessionHandler(deps)
  return [
    onSession(getUnfinishedWorkRoute, async ({ session }) => readNewestWip(deps, session)),
    onSession(getSessionChangesRoute, async ({ project, session, query, caller, request }) => {
      const includePatch = query.include === 'patch'
      return readChanges(deps, { project, session, caller, includePatch, signal: request.signal })
    }),
    onSession(getSessionFilesRoute, async ({ project, session, query, caller, request }) => {
      const { mayWrite, signal } = request
      return readSessionFiles(deps, { project, session, path: query.path, caller, mayWrite, signal })
    }),
    onSession(saveUnfinishedWorkRoute, async ({ session, caller }) => saveWipNow(deps, { session, caller })),
    onSession(bundleUnfinishedWorkRoute, async ({ project, session, query, request }) =>
      streamWip(deps, { project, sessionId: session.session_id, ...query, signal: request.signal }),
    ),
    onSession(recoverUnfinishedWorkRoute, async ({ project, session, caller }) =>
      recoverWip(deps, { project, session, caller }),
    ),
    onSession(settleUnfinishedWorkRoute, async ({ session, body, caller }) => {
      await markWipRecovered(deps, { session, caller, commit: body.commit })
      return { ok: true }
    }),
    handle(listUnfinishedWorkRoute, async ({ project, caller }) => {
      const rows = await listWip(deps, project)
      const sessionIds = rows.map((row) => row.session_id)
      const isControlled = await controlledOf(deps.db, caller.actor, sessionIds)
      return rows.filter((row) => isControlled(row.session_id))
    }),
  ]
}

function accessRoutes(deps: Deps): Mounted[] {
  return [
    sessionHandler(deps)(getPreviewRoute, async ({ session, query, caller }) => {
      const { user_id: userId, token_id: tokenId } = caller.actor
      const place = { session_id: session.session_id, port: query.port }
      const at = { label: `${place.port}--${place.session_id}`, place }
      return { url: await openOrigin(deps, 'preview_grants', at, { userId, tokenId }) }
    }),
    sessionHandler(deps)(listPortsRoute, async ({ session, request }) =>
      listPorts(deps, { session, signal: request.signal }),
    ),
    handle(getCloneCredentialRoute, async ({ project, caller }) => {
      const { token, expires_at } = await mintCloneCredential(deps, caller.actor)
      return {
        repo_url: `${apiUrlInSandbox}/projects/${project.project_id}/git`,
        auth: { type: 'basic' as const, username: 'x-access-token' as const, token },
        expires_at,
      }
    }),
  ]
}
