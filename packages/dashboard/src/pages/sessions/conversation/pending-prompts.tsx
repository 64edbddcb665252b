import { useQuery } from '@tanstack/react-query'
import { allPrompts, pendingPrompts, type Prompt, type Session } from '../queries.ts'
import { ByAuthor } from './message.tsx'

/** The prompts that wait for the start of the session or for its agent to wake, whoever sent them. */
export function PendingPrompts({
  session,
  busy,
  isEmpty,
}: {
  session: Session
  busy: boolean
  /** The conversation has no message, so that the task of a failed start would be nowhere. */
  isEmpty: boolean
}) {
  const isWaiting = session.status === 'provisioning' || (busy && session.asleep_since != null)
  const { data: waiting = [] } = useQuery({ ...pendingPrompts(session), enabled: isWaiting })
  const { data: all = [] } = useQuery({ ...allPrompts(session), enabled: isEmpty && !isWaiting })
  // The conversation has the delivered prompts.
  if (isWaiting)
    return <PromptList label="Waiting prompts" prompts={waiting} note={() => 'Not delivered to the agent yet'} />
  return isEmpty ? <PromptList label="Task" prompts={all} note={({ error }) => error?.message ?? ''} /> : null
}

function PromptList({ label, prompts, note }: { label: string; prompts: Prompt[]; note: (prompt: Prompt) => string }) {
  if (prompts.length === 0) return null
  return (
    <ul aria-label={label} className="flex flex-col gap-4">
      {prompts.map((prompt) => (
        <li key={prompt.prompt_id}>
          <ByAuthor name="Task" of="person" at={prompt.created_at}>
            <p className="whitespace-pre-wrap">{prompt.text}</p>
            {prompt.attachments.map(({ attachment_id, name }) => (
              <p key={attachment_id} className="text-sm text-dim">
                Attached: {name}
              </p>
            ))}
            {note(prompt) !== '' && <p className="text-sm text-dim">{note(prompt)}</p>}
          </ByAuthor>
        </li>
      ))}
    </ul>
  )
}
