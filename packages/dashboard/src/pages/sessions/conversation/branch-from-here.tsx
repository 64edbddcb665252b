import { GitBranch } from 'lucide-react'
import { Suspense, useState } from 'react'
import { lazy } from '../../../components/lazy-code.tsx'
import { Button } from '../../../ui/form.tsx'
import { Opening } from '../../../ui/opening.tsx'
import type { Message, Session } from '../queries.ts'

const BranchDialog = lazy(() => import('./branch-dialog.tsx'), 'default')

/** At the end of a turn. `isNewest`: it shows at once; the others show under the pointer and to the keyboard. */
export function BranchFromHere({
  session,
  message,
  isNewest,
}: {
  session: Session
  message: Message
  isNewest: boolean
}) {
  const [isOpen, setOpen] = useState(false)
  const shown = isNewest ? '' : 'pointer-fine:opacity-0 group-focus-within:opacity-100 group-hover:opacity-100'
  return (
    <div className="mt-1 pl-6">
      <Button
        kind="quiet"
        className={`-ml-0.5 px-2! ${shown}`}
        title="Starts a new session with the code and the conversation as they were after this turn."
        onClick={() => setOpen(true)}
      >
        <GitBranch aria-hidden className="size-3.5" />
        Branch from here
      </Button>
      <Suspense fallback={<Opening />}>
        {isOpen && <BranchDialog session={session} messageId={message.message_id} onClose={() => setOpen(false)} />}
      </Suspense>
    </div>
  )
}

/** Whether a turn ends with this message, as far as it is known. */
export function endsTurn(messages: readonly Message[], at: number, isResting: boolean): boolean {
  const next = messages[at + 1]
  return messages[at]?.role === 'assistant' && (next === undefined ? isResting : next.role === 'user')
}
