import { useQuery } from '@tanstack/react-query'
import { shortBranch } from '../../../components/branch-name.tsx'
import { ModelRefusal, useAgentRefusal, useModelRefusal } from '../../../components/no-model.tsx'
import { Failure, useSend } from '../../../components/requests.tsx'
import { SessionLink } from '../../../components/links.tsx'
import { useProject } from '../../../components/shell/project-shell.tsx'
import { useWriteRefusal } from '../../../components/role.ts'
import type { ChangeRequest } from '../queries.ts'
import { session } from '../../sessions/queries.ts'
import { Button } from '../../../ui/form.tsx'
import { Command, withCode } from '../../../ui/text.tsx'
import { visibleName } from '../../../ui/sanitizing-jsx/visible.ts'

export function Conflicts({ cr, files }: { cr: ChangeRequest; files: string[] }) {
  const { origin_session_id: sessionId } = cr
  return (
    <>
      <p>
        {files.length === 1 ? 'This file conflicts' : `These ${files.length} files conflict`} with {cr.base_ref}:
      </p>
      <ul aria-label="Conflicting files" className="max-h-60 list-disc overflow-y-auto pl-6 font-mono text-sm">
        {files.map((path) => (
          <li key={path}>{visibleName(path)}</li>
        ))}
      </ul>
      {sessionId === null ? (
        <StartAgent cr={cr} files={files} />
      ) : (
        <AskAgent cr={cr} files={files} sessionId={sessionId} />
      )}
      <details>
        <summary className="text-sm text-dim">Resolve conflicts yourself</summary>
        <div className="mt-2">
          <Command wraps>
            {[
              `git fetch origin && git checkout ${cr.head_ref}`,
              `git merge origin/${cr.base_ref}   # resolve, then git add and git commit`,
              'git push origin HEAD',
              `svc cr show ${cr.number}`,
            ].join('\n')}
          </Command>
        </div>
      </details>
    </>
  )
}

/** While the agent works on the request. No event of the project says that a turn ended. */
const workingMs = 2_000

/** The conflicts are shown until a push resolves them, so a turn that ended while they are shown resolved nothing. */
function AskAgent({ cr, files, sessionId }: { cr: ChangeRequest; files: string[]; sessionId: string }) {
  const { project_id: projectId } = cr
  const { slug } = useProject()
  const ask = useSend('POST', '/v1/projects/{projectId}/sessions/{sessionId}/prompt', {
    request: (sessionId: string) => ({
      path: { projectId, sessionId },
      body: { text: resolvePrompt(cr, files, 'HEAD') },
    }),
    once: true,
    refetch: [['project', projectId, 'sessions']],
  })
  const { data: now } = useQuery({
    ...session(projectId, sessionId),
    ...(ask.isSuccess ? { refetchInterval: workingMs } : {}),
  })
  const isWorking = now !== undefined && (now.is_busy === true || now.status === 'provisioning')
  const hasGivenUp = ask.isSuccess && now !== undefined && !isWorking
  const modelRefusal = useAgentRefusal(projectId, sessionId)
  const refusal = ask.isSuccess && !hasGivenUp ? 'The agent is already resolving the conflicts' : modelRefusal
  return (
    <>
      <div className="flex flex-wrap items-center gap-3">
        <Button kind="primary" busy={ask.isPending} disabledReason={refusal} onClick={() => ask.mutate(sessionId)}>
          {hasGivenUp ? 'Ask the agent again' : 'Ask the agent to resolve'}
        </Button>
        <p role="status" className="text-sm text-dim">
          {!ask.isSuccess && modelRefusal !== null ? (
            <ModelRefusal />
          ) : !ask.isSuccess ? (
            'Sends a prompt to the session and restarts it if it stopped.'
          ) : hasGivenUp ? (
            <>
              The agent's turn ended without a push that resolves them.{' '}
              {now.last_turn_error !== null && withCode(`${now.last_turn_error.message} `)}
              <SessionLink project={slug} sessionId={sessionId}>
                Read what it answered
              </SessionLink>
            </>
          ) : (
            'Sent to the agent. This page updates when the agent pushes.'
          )}
        </p>
      </div>
      {ask.isError && <Failure error={ask.error} />}
    </>
  )
}

/** No session made this change request, so a new one works on its branch. */
function StartAgent({ cr, files }: { cr: ChangeRequest; files: string[] }) {
  const { project_id: projectId } = cr
  const { slug, account_id: accountId } = useProject()
  // The new session may have a model that only plays scripts, which resolves nothing.
  const modelRefusal = useModelRefusal(null)
  const refusal = useWriteRefusal(accountId) ?? modelRefusal
  const start = useSend('POST', '/v1/projects/{projectId}/sessions', {
    request: (head: string) => ({
      path: { projectId },
      body: {
        name: `Resolve the conflicts of #${cr.number}`,
        base_ref: head,
        initial_prompt: resolvePrompt(cr, files, `HEAD:refs/heads/${head}`),
      },
    }),
    once: true,
    refetch: [['project', projectId, 'sessions']],
  })
  return (
    <>
      <div className="flex flex-wrap items-center gap-3">
        <Button
          kind="primary"
          busy={start.isPending}
          disabledReason={start.isSuccess ? 'A session resolves the conflicts' : refusal}
          onClick={() => start.mutate(cr.head_ref)}
        >
          Start an agent to resolve
        </Button>
        <p role="status" className="text-sm text-dim">
          {start.data === undefined ? (
            modelRefusal === null ? (
              `Starts a session from ${shortBranch(cr.head_ref)}.`
            ) : (
              <ModelRefusal />
            )
          ) : (
            <>
              Started.{' '}
              <SessionLink project={slug} sessionId={start.data.session_id}>
                Follow the session
              </SessionLink>
            </>
          )}
        </p>
      </div>
      {start.isError && <Failure error={start.error} />}
    </>
  )
}

/** `pushed`: what git pushes to the head branch. */
function resolvePrompt(cr: ChangeRequest, files: string[], pushed: string): string {
  const shown = files.slice(0, 100)
  const more = files.length - shown.length
  return [
    `Change request #${cr.number} conflicts with ${cr.base_ref} in:`,
    ...shown.map((path) => `- ${path}`),
    ...(more > 0 ? [`- and ${more} more`] : []),
    '',
    `Merge origin/${cr.base_ref} into this branch (git fetch origin first), resolve the conflicts so that the intent of both sides is kept, check that everything still works, commit, and git push origin ${pushed}. Then run svc cr show ${cr.number} to see that it is clean. Do not merge the change request.`,
  ].join('\n')
}
