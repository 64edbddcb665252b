/** The text of a file with line numbers and colors, and beside it the commits that last changed its lines. */
import { File } from '@pierre/diffs/react'
import { useQuery } from '@tanstack/react-query'
import { Link, useLocation, useNavigate } from '@tanstack/react-router'
import { useEffect, useMemo, useRef, useState } from 'react'
import { useIsAtLeast } from '../../browser/use-width.ts'
import { Failure } from '../../components/requests.tsx'
import { useProject } from '../../components/shell/project-shell.tsx'
import { shortCommit } from '../../components/short-commit.ts'
import { paths } from '../../paths.ts'
import { ago } from '../../ui/text.tsx'
import { visible, visibleName } from '../../ui/sanitizing-jsx/visible.ts'
import { codeTheme, Highlighting, surfaceStyles } from '../change-requests/diff/viewer.tsx'
import { blame as blameOf, type Blame } from './queries.ts'

interface Lines {
  start: number
  end: number
}

/** `L12` or `L12-L20`. */
function readLines(hash: string, count: number): Lines | null {
  const found = /^L(\d{1,7})(?:-L(\d{1,7}))?$/.exec(hash)
  if (found === null) return null
  const [start, end] = [Number(found[1]), Number(found[2] ?? found[1])].sort((one, other) => one - other)
  return start! >= 1 && start! <= count ? { start: start!, end: Math.min(end!, count) } : null
}

/** Where the first line begins and the height of each, as rendered. */
interface Measured {
  top: number
  line: number
}

export default function Code({
  path,
  version,
  lines,
  blameAt,
}: {
  path: string
  /** The same for the same content; null when nothing tells. */
  version: string | null
  lines: string[]
  /** The commit whose blame stands beside the lines. */
  blameAt: string | null
}) {
  const { hash } = useLocation()
  const selected = readLines(hash, lines.length)
  const contents = useMemo(() => visible(lines.join('\n')), [lines])
  const { options, measured } = useViewerOptions(selected)
  const hasColumn = useIsAtLeast(640)
  const notes = useBlameNotes({ path, at: hasColumn ? null : blameAt, count: lines.length })
  return (
    <Highlighting>
      {notes.error !== null && <Failure error={notes.error} />}
      <div className={blameAt !== null && hasColumn ? 'grid grid-cols-[17rem_minmax(0,1fr)]' : ''}>
        {blameAt !== null && hasColumn && (
          <BlameColumn path={path} at={blameAt} count={lines.length} measured={measured} />
        )}
        <section aria-label="Content of the file" className="min-w-0 overflow-hidden rounded-b-lg">
          <File
            file={{
              name: visibleName(path),
              contents,
              ...(version === null ? {} : { cacheKey: `${version}-${path}` }),
            }}
            options={options}
            selectedLines={selected}
            lineAnnotations={notes.annotations}
            renderAnnotation={({ metadata }) => <BlameNote of={metadata} />}
          />
        </section>
      </div>
    </Highlighting>
  )
}

/** The selected lines are in the address, and the page begins at the ones that it was opened with. */
function useViewerOptions(selected: Lines | null) {
  const navigate = useNavigate()
  const [measured, setMeasured] = useState<Measured | null>(null)
  const latest = useRef(selected)
  const isPlaced = useRef(false)
  useEffect(() => {
    latest.current = selected
  })
  const options = useMemo(
    () => ({
      theme: codeTheme,
      unsafeCSS: surfaceStyles,
      disableFileHeader: true,
      overflow: 'scroll' as const,
      enableLineSelection: true,
      onLineSelectionEnd(range: Lines | null) {
        const [start, end] = range === null ? [0, 0] : [range.start, range.end].sort((one, other) => one - other)
        const next = start === 0 ? '' : start === end ? `L${start}` : `L${start}-L${end}`
        void navigate({
          to: '.',
          search: true,
          hash: next,
          replace: true,
          hashScrollIntoView: false,
          resetScroll: false,
        })
      },
      onPostRender(host: HTMLElement) {
        const { shadowRoot: root } = host
        // Reachable by keyboard, because it scrolls sideways.
        root?.querySelector('[data-code]')?.setAttribute('tabindex', '0')
        const first = root?.querySelector('[data-line]')?.getBoundingClientRect()
        if (first !== undefined)
          setMeasured((before) => {
            const next = { top: first.top - host.getBoundingClientRect().top, line: first.height }
            return before?.top === next.top && before.line === next.line ? before : next
          })
        if (isPlaced.current || latest.current === null) return
        isPlaced.current = true
        root?.querySelector(`[data-line="${latest.current.start}"]`)?.scrollIntoView({ block: 'center' })
      },
    }),
    [navigate],
  )
  return { options, measured }
}

function BlameColumn({
  path,
  at,
  count,
  measured,
}: {
  path: string
  at: string
  count: number
  measured: Measured | null
}) {
  const { project_id } = useProject()
  const { data, error } = useQuery(blameOf({ projectId: project_id, ref: at, path }))
  if (error !== null) return <Failure error={error} />
  return (
    <ol
      aria-label="Blame"
      aria-busy={data === undefined}
      className="min-w-0 border-r border-line"
      style={{ paddingTop: measured?.top ?? 0 }}
    >
      {data !== undefined && measured !== null && <Ranges blame={data} count={count} linePx={measured.line} />}
    </ol>
  )
}

interface Range {
  start: number
  end: number
  sha: string
  commit: Blame['commits'][number] | undefined
}

function rangesOf({ ranges, commits }: Blame, count: number): Range[] {
  const bySha = new Map(commits.map((commit) => [commit.sha, commit]))
  return ranges
    .filter(({ start }) => start <= count)
    .map(({ start, end, sha }) => ({ start, end: Math.min(end, count), sha, commit: bySha.get(sha) }))
}

/** On a phone a column would leave too little of the code, so the commit stands above its lines. */
function useBlameNotes({ path, at, count }: { path: string; at: string | null; count: number }) {
  const { project_id } = useProject()
  const { data, error } = useQuery({
    ...blameOf({ projectId: project_id, ref: at ?? '', path }),
    enabled: at !== null,
  })
  const annotations = useMemo(
    () =>
      at === null || data === undefined
        ? []
        : rangesOf(data, count).map((metadata) => ({ lineNumber: metadata.start - 1, metadata })),
    [at, data, count],
  )
  return { annotations, error }
}

function BlameNote({ of }: { of: Range }) {
  return (
    <div className="border-y border-line bg-sunken px-3 font-sans text-xs/7">
      <BlameLink of={of} />
    </div>
  )
}

function Ranges({ blame, count, linePx }: { blame: Blame; count: number; linePx: number }) {
  return rangesOf(blame, count).map((range) => (
    <li
      key={range.start}
      className="overflow-hidden border-b border-line px-2 text-xs"
      style={{ height: (range.end - range.start + 1) * linePx, lineHeight: `${linePx - 1}px` }}
    >
      <BlameLink of={range} />
    </li>
  ))
}

function BlameLink({ of: { start, end, sha, commit } }: { of: Range }) {
  const { slug } = useProject()
  const what = `${commit?.subject ?? ''} · ${commit?.author_name ?? ''}`
  return (
    <Link to={paths.commit} params={{ project: slug, sha }} title={what} className="flex gap-2 hover:text-accent">
      <span className="sr-only">{start === end ? `Line ${start}:` : `Lines ${start} to ${end}:`}</span>
      <span className="min-w-0 flex-1 truncate">{commit?.subject || shortCommit(sha)}</span>
      <span className="text-faint">{commit && ago(commit.authored_at, Date.now())}</span>
    </Link>
  )
}
