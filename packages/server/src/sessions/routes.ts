import {
  abortSessionRoute,
  bundleUnfinishedWorkRoute,
  createSessionRoute,
  deleteProjectRoute,
  deleteSessionRoute,
  getCloneCredentialRoute,
  getPreviewRoute,
  getSessionRoute,
  getTimelineRoute,
  getTranscriptRoute,
  getUnfinishedWorkRoute,
  listPromptsRoute,
  listSessionsRoute,
  listUnfinishedWorkRoute,
  promptSessionRoute,
  recoverUnfinishedWorkRoute,
  restartSessionRoute,
  saveUnfinishedWorkRoute,
  settleUnfinishedWorkRoute,
  stopSessionRoute,
  streamSessionEventsRoute,
  updateSessionRoute,
} from '@svc/contract'
import { recordAudit } from '../audit/record.ts'
import { isUuid, notFound } from '../auth/allow.ts'
import { controlledOf } from '../auth/session-control.ts'
import type { Deps } from '../deps.ts'
import { handle, type Mounted } from '../http/mount.ts'
import { Page } from '../http/page.ts'
import { redactorOfPrompts } from '../secrets/redactor-for.ts'
import { auditOf } from './audit.ts'
import { apiUrlInSandbox } from './boot-environment.ts'
import { createSession } from './create.ts'
import { mintCloneCredential } from './credentials.ts'
import { deleteProject } from './delete-project.ts'
import { streamSessionEvents } from './events.ts'
import { presentInList } from './present-in-list.ts'
import { openPreview } from './preview.ts'
import { abortSession, promptSession } from './prompt.ts'
import { listPrompts } from './prompt-store.ts'
import { deleteSession, restartSession, stopSession } from './stop.ts'
import { phasesOf } from './phases.ts'
import { getSession, listSessions, presentSession, type SessionWithSandbox, updateSession } from './store.ts'
import { recoverWip, saveWipNow, settleWip } from './recover.ts'
import { readTranscript } from './transcript.ts'
import { listWip, readWip, streamWip } from './wip.ts'

export function sessionRoutes(deps: Deps): Mounted[] {
  const find = async (projectId: string, sessionId: string): Promise<SessionWithSandbox> => {
    const session = isUuid(sessionId) ? await getSession(deps.db, projectId, sessionId) : null
    if (session === null) throw notFound('session')
    return session
  }
  return [
    handle(createSessionRoute, async ({ project, caller, body, request }) => {
      const session = await createSession(deps, { ...body, project, caller, sessionId: request.resourceId })
      deps.keeper.kick(session.session_id)
      return presentSession(deps.config, session)
    }),
    handle(listSessionsRoute, async ({ project, query, caller }) => {
      const { rows, next } = await listSessions(deps.db, project.project_id, query)
      return new Page(
        rows.map((row) => presentInList(deps.config, caller.actor, row, query.include)),
        next,
      )
    }),
    handle(getSessionRoute, async ({ project, params, query }) =>
      presentSession(deps.config, await find(project.project_id, params.sessionId), query.include),
    ),
    handle(updateSessionRoute, async ({ project, params, body, caller }) => {
      const session = await find(project.project_id, params.sessionId)
      await deps.db.transaction().execute(async (trx) => {
        await updateSession(trx, session.session_id, {
          ...(body.name === undefined ? {} : { name: body.name }),
          ...(body.metadata === undefined ? {} : { metadata: body.metadata }),
        })
        const before = { name: session.name, metadata: session.metadata }
        await recordAudit(trx, caller, auditOf(session, 'update', { before, after: body }))
      })
      return presentSession(deps.config, await find(project.project_id, params.sessionId))
    }),
    handle(stopSessionRoute, async ({ project, params, caller }) =>
      presentSession(
        deps.config,
        await stopSession(deps, { session: await find(project.project_id, params.sessionId), caller }),
      ),
    ),
    handle(restartSessionRoute, async ({ project, params, body, caller }) => {
      const session = await find(project.project_id, params.sessionId)
      return presentSession(deps.config, await restartSession(deps, { session, caller, agent: body?.agent }))
    }),
    handle(deleteSessionRoute, async ({ project, params, caller }) => {
      await deleteSession(deps, { session: await find(project.project_id, params.sessionId), caller })
      return { ok: true }
    }),
    handle(promptSessionRoute, async ({ project, params, body, caller, request }) =>
      promptSession(deps, {
        session: await find(project.project_id, params.sessionId),
        caller,
        promptId: request.resourceId,
        text: body.text,
      }),
    ),
    handle(listPromptsRoute, async ({ project, params, query, caller }) => {
      const { session_id: sessionId } = await find(project.project_id, params.sessionId)
      const { prompts, next } = await listPrompts(deps.db, sessionId, query)
      // One that waits is kept as it was typed.
      const redactor = await redactorOfPrompts(deps, project, { sessionId, caller })
      const shown = prompts.map((prompt) => ({ ...prompt, text: redactor.text(prompt.text), attachments: [] }))
      return new Page({ prompts: shown }, next)
    }),
    handle(abortSessionRoute, async ({ project, params, caller }) => {
      await abortSession(deps, { session: await find(project.project_id, params.sessionId), caller })
      return { ok: true }
    }),
    handle(getTranscriptRoute, async ({ project, params, query }) => {
      const session = await find(project.project_id, params.sessionId)
      const { messages, next } = await readTranscript(deps.db, session.session_id, query)
      return new Page({ messages }, next)
    }),
    handle(getTimelineRoute, async ({ project, params }) => {
      const session = await find(project.project_id, params.sessionId)
      return { phases: await phasesOf(deps.db, session.session_id, session.generation) }
    }),
    handle(streamSessionEventsRoute, async ({ project, params, query, request }) =>
      streamSessionEvents(deps, await find(project.project_id, params.sessionId), {
        signal: request.signal,
        lastEventId: request.headers.get('last-event-id'),
        messages: query.messages,
      }),
    ),
    handle(getUnfinishedWorkRoute, async ({ project, params }) =>
      readWip(deps, await find(project.project_id, params.sessionId)),
    ),
    handle(saveUnfinishedWorkRoute, async ({ project, params, caller }) =>
      saveWipNow(deps, { session: await find(project.project_id, params.sessionId), caller }),
    ),
    handle(bundleUnfinishedWorkRoute, async ({ project, params, query, request }) => {
      const { session_id } = await find(project.project_id, params.sessionId)
      return streamWip(deps, { project, sessionId: session_id, ...query, signal: request.signal })
    }),
    handle(recoverUnfinishedWorkRoute, async ({ project, params, caller }) =>
      recoverWip(deps, { session: await find(project.project_id, params.sessionId), caller }),
    ),
    handle(settleUnfinishedWorkRoute, async ({ project, params, body, caller }) => {
      await settleWip(deps, { session: await find(project.project_id, params.sessionId), caller, commit: body.commit })
      return { ok: true }
    }),
    handle(listUnfinishedWorkRoute, async ({ project, caller }) => {
      const rows = await listWip(deps, project)
      const isControlled = await controlledOf(
        deps.db,
        caller.actor,
        rows.map((row) => row.session_id),
      )
      return rows.filter((row) => isControlled(row.session_id))
    }),
    handle(getPreviewRoute, async ({ project, params, query, caller }) => {
      const { session_id: sessionId } = await find(project.project_id, params.sessionId)
      const { user_id: userId, token_id: tokenId } = caller.actor
      return { url: await openPreview(deps, { sessionId, port: query.port, userId, tokenId }) }
    }),
    handle(getCloneCredentialRoute, async ({ project, caller }) => {
      const { token, expires_at } = await mintCloneCredential(deps, caller.actor)
      return {
        repo_url: `${apiUrlInSandbox}/projects/${project.project_id}/git`,
        auth: { type: 'basic' as const, username: 'x-access-token' as const, token },
        expires_at,
      }
    }),
    // A project goes after its sandboxes, so the room that knows sandboxes ends it.
    handle(deleteProjectRoute, async ({ project, caller }) => {
      await deleteProject(deps, { project, caller })
      return { ok: true }
    }),
  ]
}
