import { useQuery } from '@tanstack/react-query'
import { pendingPrompts, type Session } from '../queries.ts'

/** The prompts that wait for the start of the session or for its agent to wake, whoever sent them. */
export function PendingPrompts({ session, busy }: { session: Session; busy: boolean }) {
  const isWaiting = session.status === 'provisioning' || (busy && session.asleep_since != null)
  const { data: prompts = [] } = useQuery({ ...pendingPrompts(session), enabled: isWaiting })
  // The conversation has the delivered prompts.
  if (!isWaiting || prompts.length === 0) return null
  return (
    <ul aria-label="Waiting prompts" className="flex flex-col gap-4">
      {prompts.map(({ prompt_id, text, attachments }) => (
        <li key={prompt_id} className="flex flex-col gap-1 rounded-lg bg-raised px-4 py-3">
          <p className="whitespace-pre-wrap">{text}</p>
          {attachments.map(({ attachment_id, name }) => (
            <p key={attachment_id} className="text-sm text-dim">
              Attached: {name}
            </p>
          ))}
          <p className="text-sm text-dim">Not delivered to the agent yet</p>
        </li>
      ))}
    </ul>
  )
}
