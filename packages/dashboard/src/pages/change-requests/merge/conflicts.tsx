import { Failure, useSend } from '../../../components/requests.tsx'
import type { ChangeRequest } from '../queries.ts'
import { Button } from '../../../ui/form.tsx'
import { Command } from '../../../ui/text.tsx'
import { visibleName } from '../../../ui/sanitizing-jsx/visible.ts'

export function Conflicts({ cr, files }: { cr: ChangeRequest; files: string[] }) {
  const { project_id: projectId, origin_session_id: sessionId } = cr
  const ask = useSend('POST', '/v1/projects/{projectId}/sessions/{sessionId}/prompt', {
    request: (sessionId: string) => ({ path: { projectId, sessionId }, body: { text: resolvePrompt(cr, files) } }),
    once: true,
    refetch: [['project', projectId, 'sessions']],
  })
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
      {sessionId !== null && (
        <div className="flex flex-wrap items-center gap-3">
          <Button
            kind="primary"
            busy={ask.isPending}
            disabledReason={ask.isSuccess ? 'The agent is already resolving the conflicts' : null}
            onClick={() => ask.mutate(sessionId)}
          >
            Ask the agent to resolve
          </Button>
          <p role="status" className="text-sm text-dim">
            {ask.isSuccess
              ? 'Sent to the agent. This page updates when the agent pushes.'
              : 'Sends a prompt to the session and restarts it if it stopped.'}
          </p>
        </div>
      )}
      {ask.isError && <Failure error={ask.error} />}
      <details>
        <summary className="text-sm text-dim">Resolve conflicts yourself</summary>
        <div className="mt-2">
          <Command>
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

function resolvePrompt(cr: ChangeRequest, files: string[]): string {
  const shown = files.slice(0, 100)
  const more = files.length - shown.length
  return [
    `Change request #${cr.number} conflicts with ${cr.base_ref} in:`,
    ...shown.map((path) => `- ${path}`),
    ...(more > 0 ? [`- and ${more} more`] : []),
    '',
    `Merge origin/${cr.base_ref} into this branch (git fetch origin first), resolve the conflicts so that the intent of both sides is kept, check that everything still works, commit, and git push origin HEAD. Then run svc cr show ${cr.number} to see that it is clean. Do not merge the change request.`,
  ].join('\n')
}
