/** The tree of the files. A folder is read when it is opened. */
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { ChevronRight, FileX2, FolderOpen } from 'lucide-react'
import { type KeyboardEvent, type ReactNode, useEffect, useRef, useState } from 'react'
import { fileIcons } from '../../../components/file-icons.ts'
import { useProject } from '../../../components/shell/project-shell.tsx'
import { paths } from '../../../paths.ts'
import { visibleName } from '../../../ui/sanitizing-jsx/visible.ts'
import type { Session } from '../queries.ts'
import { type Entry, sessionFiles } from './queries.ts'

/** More rows at once would make the page slow. */
const rowsAtOnce = 300

interface Tree {
  session: Session
  /** The path of the file that is shown. */
  current: string
  open: ReadonlySet<string>
  toggle(path: string): void
  /** The one row that Tab reaches. */
  active: string | null
  activate(key: string): void
}

export function FileTree({ session, path, notes }: { session: Session; path: string; notes: string[] }) {
  const [open, setOpen] = useState<ReadonlySet<string>>(() => new Set(withFoldersAbove(path)))
  const [active, activate] = useState<string | null>(null)
  const list = useRef<HTMLDivElement>(null)
  const toggle = (folder: string) =>
    setOpen((before) =>
      before.has(folder) ? new Set([...before].filter((each) => each !== folder)) : new Set([...before, folder]),
    )
  // The row may be gone: its folder was closed, or the agent deleted the file.
  useEffect(() => {
    if (active !== null && list.current?.querySelector('[role=treeitem][tabindex="0"]') === null) activate(null)
  })
  const tree: Tree = { session, current: path, open, toggle, active, activate }
  return (
    <>
      <div
        ref={list}
        role="tree"
        aria-label="Files"
        onKeyDown={onKey}
        className="max-h-[40dvh] overflow-y-auto p-1.5 text-[0.8125rem] [overflow-anchor:none] lg:max-h-[calc(100dvh-var(--spacing-bar)-var(--spacing-notices)-9.5rem)]"
      >
        <Branch tree={tree} path="" level={1} />
      </div>
      {notes.map((note) => (
        <p key={note} className="border-t border-line px-4 py-2 text-sm text-dim wrap-anywhere">
          {note}
        </p>
      ))}
    </>
  )
}

function withFoldersAbove(path: string): string[] {
  const parts = path.split('/')
  return parts.map((_, at) => parts.slice(0, at + 1).join('/'))
}

function Branch({ tree, path, level }: { tree: Tree; path: string; level: number }) {
  const { data, error, refetch } = useQuery(sessionFiles(tree.session, path))
  const [shown, setShown] = useState(rowsAtOnce)
  const key = `more ${path}`
  if (data === undefined)
    return (
      <Row tree={tree} at={{ key, level, isFirst: level === 1 }} onClick={() => void refetch()}>
        {error === null ? (
          <span className="text-dim">Loading…</span>
        ) : (
          <span className="text-bad">Couldn't read this folder: {error.message} Try again</span>
        )}
      </Row>
    )
  const entries = data.type === 'directory' ? data.entries : []
  const hidden = entries.length - shown
  return (
    <>
      {entries.slice(0, shown).map((entry, at) => (
        <EntryRow
          key={`${at} ${entry.path}`}
          tree={tree}
          entry={entry}
          level={level}
          isFirst={level === 1 && at === 0}
        />
      ))}
      {entries.length === 0 && (
        <Row tree={tree} at={{ key, level, isFirst: level === 1 }}>
          <span className="text-dim">Empty folder</span>
        </Row>
      )}
      {hidden > 0 && (
        <Row tree={tree} at={{ key, level, isFirst: false }} onClick={() => setShown(shown + rowsAtOnce)}>
          <span className="text-accent">
            Show {Math.min(hidden, rowsAtOnce)} more of {hidden}
          </span>
        </Row>
      )}
      {hidden <= 0 && data.type === 'directory' && data.truncated && (
        <Row tree={tree} at={{ key, level, isFirst: false }}>
          <span className="text-dim">Only the first {entries.length} entries of this folder are shown.</span>
        </Row>
      )}
    </>
  )
}

const icons = { ...fileIcons, special: [FileX2, 'Pipe, socket or device'] } as const

const marks = {
  new: ['new', 'Not committed', 'text-good'],
  changed: ['changed', 'Differs from the commit', 'text-warn'],
  ignored: ['ignored', 'Ignored by git', 'text-faint'],
} as const

function EntryRow({ tree, entry, level, isFirst }: { tree: Tree; entry: Entry; level: number; isFirst: boolean }) {
  const { slug } = useProject()
  const isFolder = entry.type === 'directory'
  const isOpen = isFolder && tree.open.has(entry.path)
  const [Icon, label] = isOpen ? [FolderOpen, 'Open folder'] : icons[entry.type]
  const mark = entry.git === null || entry.git === 'committed' ? null : marks[entry.git]
  const content = (
    <>
      <ChevronRight
        aria-hidden
        className={`size-3.5 flex-none text-faint ${isFolder ? '' : 'invisible'} ${isOpen ? 'rotate-90' : ''}`}
      />
      <Icon aria-label={label} role="img" className="size-4 flex-none text-dim" />
      <span
        className={`min-w-0 flex-1 truncate ${entry.git === 'ignored' ? 'text-dim' : ''}`}
        title={visibleName(entry.name)}
      >
        {visibleName(entry.name)}
      </span>
      {mark !== null && (
        <span title={mark[1]} className={`flex-none text-xs ${mark[2]}`}>
          {mark[0]}
        </span>
      )}
    </>
  )
  const at = { key: entry.path, level, isFirst }
  if (isFolder)
    return (
      <>
        <Row tree={tree} at={at} isOpen={isOpen} onClick={() => tree.toggle(entry.path)}>
          {content}
        </Row>
        {isOpen && <Branch tree={tree} path={entry.path} level={level + 1} />}
      </>
    )
  if (entry.type === 'submodule')
    return (
      <Row tree={tree} at={at}>
        {content}
      </Row>
    )
  const isCurrent = entry.path === tree.current
  return (
    <Link
      to={paths.sessionFiles}
      params={{ project: slug, sessionId: tree.session.session_id }}
      search={{ path: entry.path }}
      resetScroll={false}
      {...rowProps(tree, at)}
      aria-selected={isCurrent}
      aria-current={undefined}
      className={`${rowClass} ${isCurrent ? 'bg-selected' : ''}`}
    >
      {content}
    </Link>
  )
}

interface Place {
  key: string
  level: number
  isFirst: boolean
}

const rowClass = 'flex w-full items-center gap-1.5 rounded py-1 pr-1.5 text-left hover:bg-hover'

function rowProps({ active, activate }: Tree, { key, level, isFirst }: Place) {
  return {
    role: 'treeitem',
    'aria-level': level,
    tabIndex: active === key || (active === null && isFirst) ? 0 : -1,
    onFocus: () => activate(key),
    style: { paddingLeft: `${0.25 + (level - 1) * 0.875}rem` },
  } as const
}

function Row({
  tree,
  at,
  isOpen,
  onClick,
  children,
}: {
  tree: Tree
  at: Place
  /** Only of a folder. */
  isOpen?: boolean
  onClick?: () => void
  children: ReactNode
}) {
  return (
    <button
      type="button"
      {...rowProps(tree, at)}
      aria-selected={false}
      {...(isOpen === undefined ? {} : { 'aria-expanded': isOpen })}
      onClick={onClick}
      className={rowClass}
    >
      {children}
    </button>
  )
}

/** The keys of a tree, as in a file manager. */
function onKey(event: KeyboardEvent<HTMLDivElement>): void {
  if (event.ctrlKey || event.metaKey || event.altKey) return
  const rows = [...event.currentTarget.querySelectorAll<HTMLElement>('[role=treeitem]')]
  const at = rows.indexOf(document.activeElement as HTMLElement)
  const row = rows[at]
  if (row === undefined) return
  const next = nextRow(rows, at, event.key)
  if (next === undefined) return
  event.preventDefault()
  if (next === row) row.click()
  else next?.focus()
}

/** The row itself is clicked: its folder opens or closes. Null where there is no such row, and undefined for other keys. */
function nextRow(rows: HTMLElement[], at: number, key: string): HTMLElement | null | undefined {
  const row = rows[at]!
  const isOpen = row.getAttribute('aria-expanded')
  const levelOf = (each: HTMLElement) => Number(each.getAttribute('aria-level'))
  switch (key) {
    case 'ArrowDown':
      return rows[at + 1] ?? null
    case 'ArrowUp':
      return rows[at - 1] ?? null
    case 'Home':
      return rows[0]
    case 'End':
      return rows.at(-1)
    case 'ArrowRight':
      return isOpen === null ? null : isOpen === 'false' ? row : (rows[at + 1] ?? null)
    case 'ArrowLeft':
      return isOpen === 'true' ? row : (rows.slice(0, at).findLast((each) => levelOf(each) < levelOf(row)) ?? null)
    default:
      return undefined
  }
}
