/** A narrow screen shows the verdict, what speaks against it, and the button. The details of the panel open on demand. */
import { ChevronDown } from 'lucide-react'
import { Button } from '../../../ui/form.tsx'
import type { ChangeRequest, Summary } from '../queries.ts'
import { ConfirmLink, ShortChecklist } from './checklist.tsx'
import { HowItEnded } from './how-it-ended.tsx'
import { type Landing, landingTitle } from './landing.ts'
import { MergeButton, type Merging } from './merge-button.tsx'
import { AddedSecrets } from './merge-notices.tsx'
import { CloseOrReopen } from './moves.tsx'

interface Shown {
  cr: ChangeRequest
  landing: Landing
}

export function LandingBar({
  cr,
  landing,
  summary,
  merging,
  isOpen,
  onOpen,
}: Shown & { summary: Summary | null; merging: Merging; isOpen: boolean; onOpen: (isOpen: boolean) => void }) {
  return (
    <div className="flex flex-col gap-2 px-4 py-2 md:px-6">
      <div className="flex min-h-control items-center gap-2 [&>[role=status]]:sr-only">
        <h2 className="min-w-0 flex-1 text-lg font-semibold">{landingTitle(cr, landing)}</h2>
        {cr.status === 'open' && (
          <MergeButton cr={cr} landing={landing} merging={merging} className="max-w-52 min-w-0" />
        )}
        {cr.status === 'closed' && <CloseOrReopen cr={cr} verb="reopen" isAway={landing.isAway} />}
        {hasDetails(cr, landing) && (
          <Button kind="quiet" aria-expanded={isOpen} onClick={() => onOpen(!isOpen)} className="-mr-2 px-1.5!">
            <span className="max-sm:sr-only">{isOpen ? 'Hide details' : 'Show details'}</span>
            <ChevronDown aria-hidden className={`size-4 ${isOpen ? 'rotate-180' : ''}`} />
          </Button>
        )}
      </div>
      {cr.status !== 'open' ? (
        <div className="text-sm">
          <HowItEnded cr={cr} summary={summary} />
        </div>
      ) : (
        !isOpen && <InShort cr={cr} landing={landing} onShow={() => onOpen(true)} />
      )}
    </div>
  )
}

/** An open one has the checklist and its moves. */
const hasDetails = (cr: ChangeRequest, { checks, stackedOn }: Landing) =>
  cr.status === 'open' ||
  cr.origin_session_id !== null ||
  stackedOn !== null ||
  (cr.status === 'merged' && checks !== undefined && checks.state !== 'none')

/** One line until everything is known. What needs a person's confirmation is here in full. */
function InShort({ cr, landing, onShow }: Shown & { onShow: () => void }) {
  const { preview, refusal, effects, confirms, isSettled } = landing
  const isListed = preview?.can_merge === false || cr.missing_ref != null
  const open = confirms.filter(({ isTicked }) => !isTicked)
  return (
    <div className="flex min-h-5 flex-col gap-1">
      {isSettled && (
        <>
          <ShortChecklist cr={cr} landing={landing} />
          {refusal?.missing === null && !isListed && <p className="text-sm text-dim">Can't merge: {refusal.text}.</p>}
          {open.map(({ text }) => (
            <ConfirmLink key={text} text={text} onShow={onShow} />
          ))}
          {effects !== undefined && <AddedSecrets effects={effects} shownMax={3} />}
        </>
      )}
    </div>
  )
}
