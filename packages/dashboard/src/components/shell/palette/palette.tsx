/** Finds pages, projects, change requests, sessions, files, and actions by what is typed. */
import { Autocomplete } from '@base-ui/react/autocomplete'
import { useState } from 'react'
import type { Project } from '../../../pages/projects/queries.ts'
import { Kbd } from '../../../ui/kbd.tsx'
import {
  SearchDialog,
  SearchInput,
  SearchItem,
  SearchList,
  searchOptions,
  SearchRoot,
} from '../../../ui/search-dialog.tsx'
import { Failure } from '../../requests.tsx'
import { useCurrentProject } from '../current-project.ts'
import { useActions } from './actions.ts'
import { useFound } from './found.ts'
import { projectTargets, useGo, usePages } from './pages.ts'
import { acts, type Group, isLikely, matching, type Target, wordsOf } from './target.ts'

/** Of one kind, once something is typed. */
const shownMax = 8
/** A single letter says little, so it leaves room for what the server finds. */
const shownOfLetterMax = 3

export default function Palette({
  text,
  onText,
  onFocus,
  close,
}: {
  text: string
  onText: (text: string) => void
  /** Its field has the focus. */
  onFocus: () => void
  close: () => void
}) {
  const { current, all } = useCurrentProject()
  const { groups, pin, ...server } = useGroups(text, current, all)
  const [failed, setFailed] = useState<unknown>(null)
  /** The kind of the selected row. The row itself is another object after each render. */
  const [kind, setKind] = useState<Target['kind']>()
  const count = groups.reduce((sum, { items }) => sum + items.length, 0)
  const run = (target: Target) => {
    const acted = target.run()
    if (acted instanceof Promise) acted.then(close, setFailed)
    else close()
  }
  return (
    <SearchDialog label="Search or jump to" onClose={close}>
      <SearchRoot
        {...searchOptions}
        items={groups}
        filter={null}
        value={text}
        onValueChange={(next, { reason }) => reason !== 'item-press' && onText(next)}
        onItemHighlighted={(target, { reason }) => {
          setKind(target?.kind)
          if (reason !== 'none') pin()
        }}
        itemToStringValue={({ label, where }: Target) => `${label} ${where}`}
      >
        <SearchInput label="Search or jump to" placeholder="Search or jump to…" onFocus={onFocus} />
        <Autocomplete.Status className="sr-only">
          {server.isSearching || count === 0 ? '' : `${count} ${count === 1 ? 'result' : 'results'}`}
        </Autocomplete.Status>
        <Autocomplete.Empty>
          <p className="p-4 text-sm text-dim empty:hidden">
            {server.isSearching ? 'Searching…' : server.error === null ? `Nothing found for “${text.trim()}”.` : ''}
          </p>
        </Autocomplete.Empty>
        <Results onRun={run} />
        <Problem {...server} failed={failed} />
        <Hints kind={kind} />
      </SearchRoot>
    </SearchDialog>
  )
}

/**
 * The likely rows of what the page knows come first, because they are there at once: an answer of the server only adds rows
 * below. The unlikely ones come last, and wait for it. Once the user has selected a row, the rows above it stay as they are until the next key, and what is found later is added at the end.
 */
function useGroups(text: string, current: Project | undefined, all: Project[]) {
  const go = useGo()
  const words = wordsOf(text)
  const pages = usePages(current, go)
  const actions = useActions(current, go)
  const { groups: found, ...server } = useFound(text, current, go)
  const [pinned, setPinned] = useState<{ text: string; groups: Group[] } | null>(null)
  const local = [
    { value: 'Pages', items: pages },
    { value: 'Actions', items: actions },
    { value: 'Projects', items: projectTargets(all, go) },
  ]
  const groupsNow = words.length === 0 ? [...found, ...local] : byLikelihood({ local, found, words, ...server })
  const now = groupsNow.filter(({ items }) => items.length > 0)
  const groups = pinned?.text === text ? withLater(pinned.groups, now) : now
  return { groups, pin: () => setPinned({ text, groups }), ...server }
}

function byLikelihood({
  local,
  found,
  words,
  isSearching,
}: {
  local: Group[]
  found: Group[]
  words: string[]
  isSearching: boolean
}): Group[] {
  const text = words.join(' ')
  const isLetter = text.length === 1
  const max = isLetter ? shownOfLetterMax : shownMax
  const likely = local.map(({ value, items }) => ({
    value,
    items: matching(
      items.filter((each) => (isLetter ? each.label.toLowerCase().startsWith(text) : isLikely(each, words))),
      words,
      max,
    ),
  }))
  const shown = new Set(likely.flatMap(({ items }) => items))
  const rest = local.flatMap(({ items }) => items.filter((each) => !shown.has(each)))
  const others = {
    value: 'Other pages and actions',
    isMixed: true,
    items: isSearching ? [] : matching(rest, words, shownMax),
  }
  return [...likely, ...found, others]
}

function withLater(before: Group[], now: Group[]): Group[] {
  const known = new Set(before.flatMap(({ items }) => items.map(({ value }) => value)))
  const later = now.flatMap(({ items }) => items.filter(({ value }) => !known.has(value)))
  return later.length === 0 ? before : [...before, { value: 'More results', isMixed: true, items: later }]
}

function Results({ onRun }: { onRun: (target: Target) => void }) {
  return (
    <SearchList>
      {(group: Group) => (
        <Autocomplete.Group key={group.value} items={group.items}>
          <Autocomplete.GroupLabel className="px-3 pt-3 pb-1 text-xs font-semibold text-faint">
            {group.value}
          </Autocomplete.GroupLabel>
          <Autocomplete.Collection>
            {(target: Target) => (
              <SearchItem key={target.value} value={target} onClick={() => onRun(target)}>
                <target.Icon aria-hidden className={`size-4 flex-none ${target.tone ?? 'text-faint'}`} />
                <span className={`min-w-0 flex-1 truncate ${target.isCode === true ? 'font-mono text-sm' : ''}`}>
                  {target.label}
                </span>
                {target.state !== undefined && <span className="sr-only">{target.state}</span>}
                <span
                  className={`max-w-24 truncate text-xs text-dim sm:max-w-48 ${target.isMinor === true ? 'max-sm:hidden' : ''}`}
                >
                  {[...(group.isMixed === true ? [target.kind] : []), target.where].filter(Boolean).join(' · ')}
                </span>
              </SearchItem>
            )}
          </Autocomplete.Collection>
        </Autocomplete.Group>
      )}
    </SearchList>
  )
}

function Problem({ error, failed, retry }: { error: Error | null; failed: unknown; retry: () => void }) {
  const problem = failed ?? error
  if (problem === null) return null
  return (
    <div className="flex-none border-t border-line p-2">
      <Failure error={problem} {...(failed === null && { retry })} />
      {failed === null && (
        <p className="px-2 pt-2 text-xs text-dim">Only pages, actions, and what is already loaded are listed.</p>
      )}
    </div>
  )
}

/** For a keyboard: a phone has none of these keys. */
function Hints({ kind }: { kind: Target['kind'] | undefined }) {
  return (
    <p aria-hidden className="flex flex-none gap-4 border-t border-line px-4 py-2 text-xs text-faint max-sm:hidden">
      <span>
        <Kbd>↑</Kbd> <Kbd>↓</Kbd> Select
      </span>
      <span>
        <Kbd>Enter</Kbd> {kind === undefined ? 'Open' : acts[kind]}
      </span>
      <span>
        <Kbd>Esc</Kbd> Close
      </span>
    </p>
  )
}
