/** The panel beside every tab: whether the change request may land, and what landing does. */
import { isDraft } from '@svc/contract/schemas/change-request-moves'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import { useIsAtLeast } from '../../../browser/use-width.ts'
import { SessionLink } from '../../../components/links.tsx'
import { ManifestIssues } from '../../../components/manifest-issues.tsx'
import { TypedText } from '../../../components/markdown.tsx'
import { Failure } from '../../../components/requests.tsx'
import { useProject } from '../../../components/shell/project-shell.tsx'
import { paths } from '../../../paths.ts'
import {
  type ChangeRequest,
  changeRequestAnswer,
  type Effects,
  firstPrompt,
  type MergePreview,
  type Summary,
} from '../queries.ts'
import { Button, TextArea } from '../../../ui/form.tsx'
import { PanelSection } from '../../../ui/layout.tsx'
import { visibleName } from '../../../ui/sanitizing-jsx/visible.ts'
import { Checklist } from './checklist.tsx'
import { ChecksOf } from './checks.tsx'
import { Conflicts } from './conflicts.tsx'
import { EffectRows, MissingSecret, shownDetails } from './effect-rows.tsx'
import { HowItEnded } from './how-it-ended.tsx'
import { type Landing, landingTitle } from './landing.ts'
import { LandingBar } from './landing-bar.tsx'
import { MergeButton, type Merging } from './merge-button.tsx'
import { AddedSecrets, isProtected, NewCommits, PreviewError } from './merge-notices.tsx'
import { CloseOrReopen, MarkAsReady } from './moves.tsx'
import { ProtectedBase } from './protected-base.tsx'
import { StackedBase } from './stacked-base.tsx'

interface Shown {
  cr: ChangeRequest
  landing: Landing
}

interface OfPage extends Shown {
  summary: Summary | null
  /** The tab beside it, whose content it does not repeat. */
  tab: string
  merging: Merging
}

/** Beside the content, or on a narrow screen as a bar above it, which opens the rest. */
export function LandingPanel(page: OfPage) {
  const isBeside = useIsAtLeast(1280)
  const [isOpen, setOpen] = useState(false)
  const { submit, dismiss } = page.merging
  const merging: Merging = {
    ...page.merging,
    // The details say why a merge failed, and leave the screen to the new commits.
    submit: (preview) => submit(preview, () => setOpen(true)),
    dismiss: () => {
      dismiss()
      setOpen(false)
    },
  }
  const shown = { ...page, merging }
  const panel = (
    <>
      <Outcome {...shown} isBeside={isBeside} />
      <Task cr={page.cr} />
    </>
  )
  if (isBeside) return panel
  return (
    <>
      <LandingBar {...shown} isOpen={isOpen} onOpen={setOpen} />
      {/* Folded, it keeps what was typed into it. */}
      <div className={isOpen ? 'border-t border-line md:px-2' : 'hidden'}>{panel}</div>
    </>
  )
}

interface OfPanel extends OfPage {
  /** Otherwise the bar has the title, the button, and how it ended. */
  isBeside: boolean
}

function Outcome(shown: OfPanel) {
  const { cr, landing, summary, isBeside } = shown
  if (cr.status === 'open') return <Open {...shown} />
  return (
    <>
      {isBeside && (
        <PanelSection leads title={landingTitle(cr, landing)}>
          <div className="flex flex-col gap-3">
            <HowItEnded cr={cr} summary={summary} />
            {cr.status === 'closed' && <CloseOrReopen cr={cr} verb="reopen" isAway={landing.isAway} />}
          </div>
        </PanelSection>
      )}
      {cr.status === 'merged' && (
        <>
          <StackedBase cr={cr} stackedOn={landing.stackedOn} frame={Padded} />
          <ChecksSection cr={cr} landing={landing} />
        </>
      )}
    </>
  )
}

/** Nothing below the button is drawn before everything is known, so that nothing one can click moves. */
function Open(shown: OfPanel) {
  return (
    <>
      <ReadyToLand {...shown} />
      {shown.landing.isSettled ? <Details {...shown} /> : <WaitingDetails />}
    </>
  )
}

function ReadyToLand({ cr, landing, isBeside, merging }: OfPanel) {
  const { message, setMessage, error, movedFrom } = merging
  const [isEditing, setEditing] = useState(message !== '')
  const { preview, refusal } = landing
  const content = (
    <div className="flex flex-col gap-2">
      <Checklist cr={cr} landing={landing} />
      {landing.isSettled && <ProtectedBase cr={cr} />}
      {movedFrom !== null && <NewCommits cr={cr} preview={preview} since={movedFrom} onShow={merging.dismiss} />}
      {isBeside && (
        <div className="[&>[role=status]]:sr-only">
          <MergeButton cr={cr} landing={landing} merging={merging} className="w-full" />
        </div>
      )}
      <p className="min-h-[2lh] text-xs text-dim" aria-live="polite">
        {refusal === null && preview?.is_up_to_date === true
          ? 'Adds nothing and makes no commit: it only marks this change request as merged.'
          : refusal === null
            ? 'Merges exactly this commit. If the branch moves first, nothing is merged.'
            : refusal.missing === 'answers'
              ? refusal.text
              : `Can't merge: ${refusal.text}.`}
      </p>
      {makesCommit(preview) && isEditing && (
        <TextArea
          label="Merge commit message"
          className="font-mono"
          placeholder={`Merge CR #${cr.number}: ${cr.title}`}
          value={message}
          onChange={setMessage}
        />
      )}
      <div className="flex flex-wrap items-center gap-2">
        {isDraft(cr) && <MarkAsReady cr={cr} />}
        <CloseOrReopen cr={cr} verb="close" isAway={landing.isAway} />
        {makesCommit(preview) && !isEditing && (
          <Button kind="quiet" onClick={() => setEditing(true)}>
            Edit message
          </Button>
        )}
      </div>
      {error !== null && movedFrom === null && !isProtected(error) && <Failure error={error} />}
    </div>
  )
  return isBeside ? (
    <PanelSection leads title={landingTitle(cr, landing)}>
      {content}
    </PanelSection>
  ) : (
    <Padded>{content}</Padded>
  )
}

const makesCommit = (preview: MergePreview | undefined) =>
  preview !== undefined && preview.can_merge && !preview.can_fast_forward && !preview.is_up_to_date

function Details({ cr, landing, summary, tab }: OfPage) {
  const { preview, stale, effects } = landing
  return (
    <>
      {stale !== null && !landing.isAway && (
        <Padded>
          <PreviewError {...stale} />
        </Padded>
      )}
      <StackedBase cr={cr} stackedOn={landing.stackedOn} frame={Padded} />
      {preview !== undefined && !preview.can_merge && (
        <PanelSection title="Conflicts" aside={preview.conflicts.length}>
          <div className="flex flex-col gap-3">
            <Conflicts cr={cr} files={preview.conflicts} />
          </div>
        </PanelSection>
      )}
      <ChecksSection cr={cr} landing={landing} />
      {effects?.applies === false && landing.isRefusedByGate && (
        <PanelSection title="Mistakes in svc.toml">
          <div className="flex flex-col gap-3">
            <ManifestIssues bySeverity issues={effects.manifest_issues} />
          </div>
        </PanelSection>
      )}
      {effects?.applies === true &&
        (tab === 'effects' ? (
          <Decisions cr={cr} landing={landing} effects={effects} />
        ) : (
          <EffectsSection cr={cr} landing={landing} effects={effects} />
        ))}
      <Collisions collisions={preview?.collisions ?? []} summary={summary} />
    </>
  )
}

function Padded({ children }: { children: ReactNode }) {
  return <div className="border-b border-line p-4 text-sm">{children}</div>
}

/** As high as two sections, so that little moves when they arrive. */
function WaitingDetails() {
  return (
    <div aria-hidden className="animate-[appear_0s_0.3s_both]">
      {['Effects of landing', 'Collides with'].map((title) => (
        <PanelSection key={title} title={title}>
          <span className="block h-4 w-4/5 rounded-sm bg-hover" />
          <span className="mt-2 block h-4 w-3/5 rounded-sm bg-hover" />
        </PanelSection>
      ))}
    </div>
  )
}

function ChecksSection({ cr, landing }: Shown) {
  const found = landing.checks
  if (found !== undefined && found.state === 'none') return null
  return (
    <PanelSection title="Checks" aside={found?.checks.length}>
      <ChecksOf cr={cr} />
    </PanelSection>
  )
}

interface WithEffects extends Shown {
  effects: Effects
}

function EffectsSection({ cr, landing, effects }: WithEffects) {
  const { slug } = useProject()
  const details = shownDetails(effects)
  const { secrets_missing: missing, secrets_added: added, manifest_issues: issues } = effects
  const isEmpty = details.length + missing.length + added.length + issues.length === 0
  return (
    <PanelSection
      title="Effects of landing"
      aside={
        <Link
          to={paths.changeRequest}
          params={{ project: slug, number: String(cr.number) }}
          search={{ tab: 'effects' }}
          className="hover:text-text hover:underline"
        >
          Show all
        </Link>
      }
    >
      <div className="flex flex-col gap-3">
        {isEmpty && <p className="text-sm text-dim">Only code changes.</p>}
        <AddedSecrets effects={effects} shownMax={3} />
        <ManifestIssues bySeverity issues={issues} />
        {details.length > 0 && <EffectRows details={details} landing={landing} />}
        <MissingSecrets cr={cr} names={missing} />
      </div>
    </PanelSection>
  )
}

/** Beside the tab of the effects: only what a person decides about them. */
function Decisions({ cr, landing, effects }: WithEffects) {
  const confirmed = shownDetails(effects).filter(({ confirm }) => confirm.length > 0)
  const { secrets_missing: missing } = effects
  if (confirmed.length + missing.length === 0) return null
  return (
    <PanelSection title="To decide">
      <div className="flex flex-col gap-3">
        {confirmed.length > 0 && (
          <EffectRows
            details={confirmed.map((each) => ({ ...each, fields: [], next_fire_at: [] }))}
            landing={landing}
          />
        )}
        <MissingSecrets cr={cr} names={missing} />
      </div>
    </PanelSection>
  )
}

function MissingSecrets({ cr, names }: { cr: ChangeRequest; names: string[] }) {
  if (names.length === 0) return null
  return (
    <div className="flex flex-col gap-2 rounded-md bg-warn-soft p-3">
      <p className="text-sm font-medium text-warn">{names.length === 1 ? 'Missing secret' : 'Missing secrets'}</p>
      <p className="text-sm">
        Sessions and apps need {names.length === 1 ? 'it' : 'them'} after the merge. Set{' '}
        {names.length === 1 ? 'it' : 'them'} before or after it.
      </p>
      <ul aria-label="Missing secrets" className="flex flex-col gap-2">
        {names.map((name) => (
          <MissingSecret key={name} cr={cr} name={name} />
        ))}
      </ul>
    </div>
  )
}

const filesShown = 10

/** Change requests that conflict once this one has landed. */
function Collisions({
  collisions,
  summary,
}: {
  collisions: NonNullable<MergePreview['collisions']>
  summary: Summary | null
}) {
  const { slug } = useProject()
  if (collisions.length === 0) return null
  const titles = new Map(summary?.collisions?.map(({ number, title }) => [number, title]))
  return (
    <PanelSection title="Collides with" aside={collisions.length}>
      <p className="mb-2 text-sm text-dim">
        After this merge, {collisions.length === 1 ? 'it conflicts' : 'they conflict'}.
      </p>
      <ul aria-label="Collides with" className="flex flex-col gap-2">
        {collisions.map(({ number, files }) => (
          <li key={number} className="flex gap-2">
            <Link
              to={paths.changeRequest}
              params={{ project: slug, number: String(number) }}
              className="h-5 flex-none rounded-full bg-warn-soft px-1.75 text-xs/5 font-semibold text-warn hover:underline"
            >
              #{number}
            </Link>
            <div className="min-w-0">
              <CollisionTitle number={number} known={titles.get(number) ?? null} />
              <p className="text-sm break-all text-dim">
                {files.slice(0, filesShown).map(visibleName).join(', ')}
                {files.length > filesShown && ` and ${files.length - filesShown} more`}
              </p>
            </div>
          </li>
        ))}
      </ul>
    </PanelSection>
  )
}

/** The list may know of a collision later than the preview does. The line keeps its height meanwhile. */
function CollisionTitle({ number, known }: { number: number; known: string | null }) {
  const { project_id } = useProject()
  const { data } = useQuery({ ...changeRequestAnswer(project_id, number), enabled: known === null })
  return <p className="min-h-5">{known ?? data?.cr.title}</p>
}

/** The first prompt of the session behind the change. Empty if the session was deleted. */
function Task({ cr }: { cr: ChangeRequest }) {
  const { slug } = useProject()
  const { project_id, origin_session_id: sessionId } = cr
  const { data } = useQuery({ ...firstPrompt(project_id, sessionId ?? ''), enabled: sessionId !== null })
  if (sessionId === null || !data) return null
  return (
    <PanelSection
      title="Task"
      aside={
        <SessionLink project={slug} sessionId={sessionId} className="hover:text-text hover:underline">
          Open session
        </SessionLink>
      }
    >
      <section aria-label="Task" tabIndex={0} className="max-h-60 overflow-auto wrap-break-word">
        <TypedText className="text-dim">{data.text}</TypedText>
      </section>
    </PanelSection>
  )
}
