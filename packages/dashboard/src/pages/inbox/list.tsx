/** The sections of the inbox and its keys: `j` and `k` move the focus, `e` and `h` put the item away, `z` undoes. */
import { Link } from '@tanstack/react-router'
import { useEffect, useMemo, useRef, useState } from 'react'
import { paths } from '../../paths.ts'
import { Button, buttonClass } from '../../ui/form.tsx'
import { GroupHeading, Notice } from '../../ui/layout.tsx'
import { useShortcuts } from '../../ui/use-shortcuts.ts'
import type { Project } from '../projects/queries.ts'
import { type PuttingAway, usePutAway } from './put-away.ts'
import type { Inbox, InboxGroup, InboxItem, View } from './queries.ts'
import { InboxRow } from './row.tsx'
import { useKept } from './use-kept.ts'

const keyNames = [
  ['j', 'Next item'],
  ['k', 'Previous item'],
  ['Enter', 'Open the item'],
  ['e', 'Mark as done'],
  ['h', 'Snooze'],
  ['z', 'Undo'],
] as const

const groups: [InboxGroup, string][] = [
  ['answer', 'Answer'],
  ['review', 'Review'],
  ['unblock', 'Unblock'],
  ['running', 'Running'],
]

interface ListProps {
  view: View
  of: Inbox
  first: Project
  /** Null when there are no more rows to load here. */
  onMore: (() => void) | null
}

export function InboxList({ view, of, first, onMore }: ListProps) {
  const putting = usePutAway()
  const items = of.items.filter((item) => view !== 'open' || !putting.isHidden(item, of.askedAt))
  const keys = useKeys(view, items, putting)
  const isEmpty = items.length === 0
  return (
    <div className="-mx-4 -my-5 not-first:mt-0 md:-mx-6">
      {putting.error !== null && <Notice title={`Couldn't change the item: ${putting.error.message}`} />}
      {isEmpty && <EmptyInbox view={view} first={first} />}
      {groups.map(([group, title]) => {
        const rows = items.filter((item) => item.group === group)
        if (rows.length === 0) return null
        const count = of.counts[group] - of.items.filter((item) => item.group === group).length + rows.length
        return (
          <section key={group} aria-label={title}>
            <GroupHeading title={title} count={count} />
            <ul aria-label={title}>
              {rows.map((item) => (
                <InboxRow key={item.key} item={item} {...keys.rowOf(item)} />
              ))}
            </ul>
            {count > rows.length && (
              <div className="flex items-center gap-3 border-b border-line px-4 py-row text-sm text-dim md:px-6">
                {rows.length} of {count} shown
                {onMore !== null && (
                  <Button kind="quiet" onClick={onMore}>
                    Show more
                  </Button>
                )}
              </div>
            )}
          </section>
        )
      })}
      <Undo putting={putting} onUndo={keys.restore} onDismiss={keys.dismiss} />
    </div>
  )
}

/** In the order on the page. */
const inOrder = (items: InboxItem[]) => groups.flatMap(([group]) => items.filter((item) => item.group === group))

function useKeys(view: View, items: InboxItem[], putting: PuttingAway) {
  const [selected, setSelected] = useKept<string | null>('selected', null)
  const [snoozing, setSnoozing] = useState<string | null>(null)
  const links = useRef(new Map<string, HTMLAnchorElement>())
  const [returnsTo] = useState(selected)
  /** The item that takes the focus once it is in the list again. */
  const returning = useRef<string | null>(null)
  // The router restores the place on the page. The heading has the focus while the list loads.
  useEffect(() => {
    if (returnsTo !== null && /^(BODY|H1)$/.test(document.activeElement?.tagName ?? ''))
      links.current.get(returnsTo)?.focus({ preventScroll: true })
  }, [returnsTo])
  const ordered = inOrder(items)
  const at = ordered.findIndex(({ key }) => key === selected)
  const current = ordered[at] ?? null
  const focus = (to: number) => {
    const item = ordered[Math.max(0, Math.min(ordered.length - 1, to))]
    if (item === undefined) return
    setSelected(item.key)
    links.current.get(item.key)?.focus()
  }
  const away = (item: InboxItem, until: string | null) => {
    setSnoozing(null)
    // The focus stays in the list, at the row that takes the place of this one.
    const here = ordered.indexOf(item)
    focus(here + 1 < ordered.length ? here + 1 : here - 1)
    putting.putAway(item, until)
  }
  const restore = (item: InboxItem) => {
    returning.current = item.key
    putting.restore(item)
  }
  const actions: Record<string, () => void> = {
    j: () => focus(at + 1),
    k: () => focus(at === -1 ? 0 : at - 1),
    z: () => putting.last !== null && restore(putting.last.item),
  }
  if (view === 'open' && current !== null) {
    actions.e = () => away(current, null)
    actions.h = () => setSnoozing(current.key)
  }
  useShortcuts(actions, keyNames)
  return {
    restore,
    dismiss() {
      putting.forget()
      focus(at)
    },
    rowOf: (item: InboxItem) => ({
      isSelected: item.key === selected,
      isSnoozing: item.key === snoozing,
      link: (link: HTMLAnchorElement | null) => {
        if (link === null) links.current.delete(item.key)
        else links.current.set(item.key, link)
        if (link === null || returning.current !== item.key) return
        returning.current = null
        link.focus()
      },
      onSelect: () => item.key !== selected && setSelected(item.key),
      onSnoozing: (open: boolean) => setSnoozing(open ? item.key : null),
      onPutAway: (until: string | null) => away(item, until),
      onRestore: view === 'open' ? null : () => putting.restore(item),
    }),
  }
}

function Undo({
  putting,
  onUndo,
  onDismiss,
}: {
  putting: PuttingAway
  onUndo: (item: InboxItem) => void
  onDismiss: () => void
}) {
  const { last } = putting
  const text = useMemo(() => {
    if (last === null) return ''
    const until =
      last.until === null
        ? null
        : new Date(last.until).toLocaleString('en-US', { weekday: 'long', hour: 'numeric', minute: '2-digit' })
    return until === null ? `Marked “${last.item.title}” as done` : `Snoozed “${last.item.title}” until ${until}`
  }, [last])
  return (
    <div role="status" className="pointer-events-none fixed inset-x-0 bottom-4 z-30 flex justify-center px-4">
      {last !== null && (
        <div className="pointer-events-auto flex max-w-full items-center gap-3 rounded-lg border border-line bg-raised px-4 py-2 text-sm shadow-float">
          <span className="min-w-0 truncate">{text}</span>
          <button type="button" className={buttonClass()} onClick={() => onUndo(last.item)}>
            Undo
          </button>
          <button type="button" className={buttonClass('quiet')} onClick={onDismiss}>
            Dismiss
          </button>
        </div>
      )}
    </div>
  )
}

function EmptyInbox({ view, first }: { view: View; first: Project }) {
  if (view !== 'open')
    return (
      <p className="px-4 py-12 text-center text-dim">
        {view === 'snoozed'
          ? 'Nothing is snoozed. Press h on an item of the inbox to see it again later.'
          : 'Nothing is marked as done. Done items leave this list when they change or end.'}
      </p>
    )
  return (
    <div className="mx-auto flex max-w-lg flex-col items-center gap-3 px-4 py-16 text-center">
      <h2 className="text-lg font-semibold">Nothing needs you right now</h2>
      <p className="text-dim">
        Questions of agents, change requests to review, conflicts, failed checks, and failed sessions appear here as
        they happen. Start a session to give an agent a task.
      </p>
      <Link to={paths.sessions} params={{ project: first.slug }} className={buttonClass('primary')}>
        Start a session in {first.name}
      </Link>
    </div>
  )
}
