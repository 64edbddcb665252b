/** How a hunk was written: its prompts and tool calls in order, and the commits of lines that no call wrote. */
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { X } from 'lucide-react'
import { type ReactNode, useEffect, useId, useRef, useState } from 'react'
import { createPortal } from 'react-dom'
import { QueryResult } from '../../../components/requests.tsx'
import { linkClass } from '../../../components/links.tsx'
import { useProject } from '../../../components/shell/project-shell.tsx'
import { shortCommit } from '../../../components/short-commit.ts'
import { paths } from '../../../paths.ts'
import { Button } from '../../../ui/form.tsx'
import { isTyped } from '../../../ui/keys.ts'
import { visibleName } from '../../../ui/sanitizing-jsx/visible.ts'
import { Time } from '../../../ui/text.tsx'
import type { ChangedFile } from '../files/changed-files.ts'
import { type ChangeRequest, type LineOrigin, origins, type Origins } from '../queries.ts'
import { type Candidate, type Place, rangeText, type Story, storyOf } from './story.ts'

interface Shown {
  cr: ChangeRequest
  /** The head that the diff shows. */
  headSha: string
  file: ChangedFile
  place: Place
  /** Shows the lines in the diff. */
  onLines: (lines: Pick<LineOrigin, 'side' | 'start' | 'end'>) => void
}

/** Beside the diff; on a narrow screen a sheet below it. The diff stays usable. */
export default function OriginsPane({
  onWholeFile,
  onClose,
  ...shown
}: Shown & { onWholeFile: () => void; onClose: () => void }) {
  const { cr, place } = shown
  const title = useRef<HTMLHeadingElement>(null)
  const titleId = useId()
  const found = useQuery(origins(cr, place.path))
  useEffect(() => title.current?.focus({ preventScroll: true }), [place])
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key === 'Escape' && !event.defaultPrevented && !isTyped(event)) onClose()
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [onClose])
  return createPortal(
    <section
      role="dialog"
      aria-modal={false}
      aria-labelledby={titleId}
      className="fixed inset-x-0 bottom-0 z-30 flex max-h-[70dvh] flex-col rounded-t-lg border-t border-line bg-panel shadow-float lg:inset-x-auto lg:top-bar lg:right-0 lg:max-h-none lg:w-(--spacing-aside) lg:rounded-none lg:border-t-0 lg:border-l lg:shadow-none"
    >
      <div className="flex items-start gap-2 border-b border-line p-4">
        <div className="min-w-0 flex-1">
          <h2 ref={title} id={titleId} tabIndex={-1} className="text-sm font-semibold outline-none">
            How this was written
          </h2>
          <p className="truncate font-mono text-xs text-dim">{visibleName(place.path)}</p>
        </div>
        {place.hunk !== null && (
          <Button kind="quiet" onClick={onWholeFile}>
            Whole file
          </Button>
        )}
        <Button kind="quiet" onClick={onClose} aria-label="Close" title="Close (Esc)">
          <X aria-hidden className="size-4" />
        </Button>
      </div>
      <div tabIndex={0} role="region" aria-labelledby={titleId} className="min-h-0 flex-1 overflow-y-auto">
        <QueryResult of={found} what="how this was written">
          {(origins) => <Told {...shown} origins={origins} />}
        </QueryResult>
      </div>
    </section>,
    document.body,
  )
}

function Told({ origins, ...shown }: Shown & { origins: Origins }) {
  const story = storyOf(origins, shown.place.hunk)
  return (
    <>
      <Coverage origins={origins} story={story} headSha={shown.headSha} />
      <ol aria-label="Prompts and tool calls">
        {story.chapters.map(({ prompt, calls }, at) => (
          <li key={at} className="border-b border-line p-4">
            <PromptText prompt={prompt} />
            <ul className="mt-3 flex flex-col gap-3 border-l-2 border-line pl-3">
              {calls.map(({ call, lines }) => (
                <li key={call.call_id} className="flex min-w-0 flex-col gap-1.5">
                  <CallLink call={call} />
                  {lines.map((each) => (
                    <Lines key={`${each.side}${each.start}`} {...shown} lines={each} />
                  ))}
                </li>
              ))}
            </ul>
          </li>
        ))}
      </ol>
      {story.rest.length > 0 && (
        <section className="p-4">
          <h3 className="mb-2 text-sm font-semibold">Lines without a known tool call</h3>
          <ul className="flex flex-col gap-4">
            {story.rest.map(({ origin, commit, candidates }) => (
              <li key={`${origin.side}${origin.start}`} className="flex flex-col gap-1.5 text-sm">
                <Lines {...shown} lines={origin} />
                <Committed commit={commit} />
                <Candidates candidates={candidates} />
              </li>
            ))}
          </ul>
        </section>
      )}
    </>
  )
}

/** Says what the server left out. */
function Coverage({
  origins: { head_sha, sessions, withheld, truncated },
  story,
  headSha,
}: {
  origins: Origins
  story: Story
  headSha: string
}) {
  const notes = [
    head_sha !== headSha && 'The branch moved since this diff was loaded, so line numbers may differ.',
    story.chapters.length + story.rest.length === 0 &&
      'These lines have no known origin. Show the whole file for others.',
    sessions.length === 0 && !withheld && 'No session wrote this branch, or it was deleted. Its commits say who did.',
    withheld && 'You cannot read the transcript of a session of this branch.',
    truncated && 'The transcript is long. Only its newest part was searched.',
  ].filter((note) => note !== false)
  return notes.map((note) => (
    <p key={note} className="border-b border-line px-4 py-3 text-sm text-dim">
      {note}
    </p>
  ))
}

function PromptText({ prompt }: { prompt: Origins['prompts'][number] | null }) {
  const { slug } = useProject()
  const [isWhole, setWhole] = useState(() => prompt === null || isShort(prompt.text))
  if (prompt === null) return <p className="text-sm text-dim">Before the first prompt</p>
  const { session_id: sessionId, message_id: message } = prompt
  return (
    <div className="flex flex-col gap-1">
      <p className="flex items-baseline justify-between gap-2 text-sm">
        <Link to={paths.session} params={{ project: slug, sessionId }} search={{ message }} className={linkClass}>
          Prompt
        </Link>
        <Time at={prompt.at} />
      </p>
      <blockquote className={`text-sm break-words whitespace-pre-wrap ${isWhole ? '' : 'line-clamp-5'}`}>
        {prompt.text.trim() === '' ? 'A prompt without text' : prompt.text}
        {prompt.truncated && '…'}
      </blockquote>
      {!isWhole && (
        <Button kind="quiet" className="self-start" onClick={() => setWhole(true)}>
          Show more
        </Button>
      )}
    </div>
  )
}

const isShort = (text: string) => text.length <= 200 && text.split('\n').length <= 5

const verbs: Record<string, string> = { edit: 'Edited', write: 'Wrote', bash: 'Ran', task: 'Sub-agent' }

/** Opens the session at the call. */
function CallLink({ call }: { call: Origins['calls'][number] }) {
  const { slug } = useProject()
  return (
    <p className="flex min-w-0 items-baseline gap-2 text-sm">
      <Link
        to={paths.session}
        params={{ project: slug, sessionId: call.session_id }}
        search={{ message: call.message_id, part: call.call_id }}
        className="flex min-w-0 flex-1 items-baseline gap-1.5 hover:underline"
      >
        <span className="flex-none text-accent">{verbs[call.tool] ?? 'Edited'}</span>
        <code className="min-w-0 truncate font-mono text-xs">{call.title.split('\n')[0]}</code>
      </Link>
      <Time at={call.at} />
    </p>
  )
}

const shownMax = 6

/** A press shows the lines in the diff. */
function Lines({ lines, file, onLines }: Pick<Shown, 'file' | 'onLines'> & { lines: LineOrigin }) {
  const texts = textsOf(file, lines)
  const label = rangeText(lines)
  return (
    <div className="flex flex-col">
      <button
        type="button"
        onClick={() => onLines(lines)}
        className="self-start rounded-sm text-xs text-dim underline hover:text-text"
      >
        {label.charAt(0).toUpperCase() + label.slice(1)}
      </button>
      {texts.length > 0 && (
        <pre
          className={`overflow-hidden rounded-sm px-2 py-1 font-mono text-xs/5 ${lines.side === 'new' ? 'bg-good-soft text-good' : 'bg-bad-soft text-bad'}`}
        >
          {texts.slice(0, shownMax).map((text, at) => (
            <span key={at} className="block overflow-hidden text-ellipsis whitespace-pre">
              {text.replace(/\n$/, '') || ' '}
            </span>
          ))}
          {texts.length > shownMax && <span className="block">and {texts.length - shownMax} more</span>}
        </pre>
      )}
    </div>
  )
}

/** Empty where the diff does not show the lines. */
function textsOf({ view }: ChangedFile, { side, start, end }: LineOrigin): string[] {
  for (const hunk of view?.hunks ?? []) {
    const [from, count, index, lines] =
      side === 'new'
        ? [hunk.additionStart, hunk.additionCount, hunk.additionLineIndex, view!.additionLines]
        : [hunk.deletionStart, hunk.deletionCount, hunk.deletionLineIndex, view!.deletionLines]
    if (start >= from && end < from + count) return lines.slice(index + start - from, index + end + 1 - from)
  }
  return []
}

function Committed({ commit }: { commit: Origins['commits'][number] | null }): ReactNode {
  const { slug } = useProject()
  if (commit === null) return <p className="text-dim">No tool call is known that removed these lines.</p>
  return (
    <p className="text-dim">
      {commit.by_agent ? 'An agent' : commit.author_name} committed it in{' '}
      <Link to={paths.commit} params={{ project: slug, sha: commit.sha }} className={linkClass}>
        {shortCommit(commit.sha)}
      </Link>
      : {commit.subject}
    </p>
  )
}

const reasons: Record<Candidate['reason'], string> = {
  same_text: 'wrote the same text',
  names_file: 'names this file',
  ran_before_commit: 'ran before the commit',
  sub_agent: 'its sub-agent changed this file',
  cut: 'is stored only in part',
}

function Candidates({ candidates }: { candidates: Candidate[] }) {
  if (candidates.length === 0) return null
  return (
    <div className="flex flex-col gap-1.5 border-l-2 border-line pl-3">
      <p className="text-dim">May come from</p>
      <ul className="flex flex-col gap-1.5">
        {candidates.map(({ call, reason, prompt }) => (
          <li key={call.call_id} className="flex flex-col">
            <CallLink call={call} />
            <span className="truncate text-xs text-faint">
              {reasons[reason]}
              {prompt !== null && `, for “${prompt.text.split('\n')[0]}”`}
            </span>
          </li>
        ))}
      </ul>
    </div>
  )
}
