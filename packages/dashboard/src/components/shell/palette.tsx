/** Jump to any page, project, change request or session. What the pages have loaded is there at once; the server finds the rest. */
import { Autocomplete } from '@base-ui/react/autocomplete'
import { type QueryClient, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useMemo } from 'react'
import type { Reply } from '../../api.ts'
import { changeRequests } from '../../pages/change-requests/queries.ts'
import type { Project } from '../../pages/projects/queries.ts'
import { sessions } from '../../pages/sessions/queries.ts'
import { paths } from '../../paths.ts'
import {
  SearchDialog,
  SearchInput,
  SearchItem,
  SearchList,
  searchOptions,
  SearchRoot,
} from '../../ui/search-dialog.tsx'
import { useCurrentProject } from './current-project.ts'
import { useFound } from './palette-search.ts'
import { accountPages, projectPages } from './rooms.ts'

type Found = Reply<'/v1/find'>

interface Target {
  /** Unique in the palette. */
  value: string
  label: string
  where: string
  to: string
  params?: Record<string, string>
  search?: Record<string, string>
}

interface Group {
  value: string
  items: Target[]
}

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
  const queries = useQueryClient()
  const navigate = useNavigate()
  const { current, all } = useCurrentProject()
  const known = useMemo(() => knownIn(queries, current, all), [queries, current, all])
  const { found, error, isSearching } = useFound(text, current?.project_id)
  const groups = matching(known, { text, found, current })
  const go = ({ to, params = {}, search = {} }: Target) => {
    close()
    void navigate({ to, params, search })
  }
  const count = groups.reduce((sum, { items }) => sum + items.length, 0)
  return (
    <SearchDialog label="Search or jump to" onClose={close}>
      <SearchRoot
        {...searchOptions}
        items={groups}
        filter={null}
        value={text}
        onValueChange={(next, { reason }) => reason !== 'item-press' && onText(next)}
        itemToStringValue={({ label }: Target) => label}
      >
        <SearchInput label="Search or jump to" placeholder="Search or jump to…" onFocus={onFocus} />
        <Autocomplete.Status className="sr-only">{isSearching ? 'Searching…' : `${count} results`}</Autocomplete.Status>
        <SearchList>
          {(group: Group) => (
            <Autocomplete.Group key={group.value} items={group.items}>
              <Autocomplete.GroupLabel className="px-3 pt-3 pb-1 text-xs font-semibold text-faint">
                {group.value}
              </Autocomplete.GroupLabel>
              <Autocomplete.Collection>
                {(target: Target) => (
                  <SearchItem key={target.value} value={target} onClick={() => go(target)}>
                    <span className="min-w-0 flex-1 truncate" title={target.label}>
                      {target.label}
                    </span>
                    <span className="max-w-40 truncate text-xs text-dim">{target.where}</span>
                  </SearchItem>
                )}
              </Autocomplete.Collection>
            </Autocomplete.Group>
          )}
        </SearchList>
        {count === 0 && <p className="p-4 text-sm text-dim">{isSearching ? 'Searching…' : 'Nothing found.'}</p>}
        {error !== null && (
          <p role="alert" className="border-t border-line px-4 py-2 text-sm text-bad">
            Change requests and sessions could not be searched: {error.message}
          </p>
        )}
      </SearchRoot>
    </SearchDialog>
  )
}

/** What the palette knows without a request. */
interface Known {
  pages: Target[]
  projects: Target[]
  changeRequests: Target[]
  sessions: Target[]
}

function knownIn(queries: QueryClient, current: Project | undefined, all: Project[]): Known {
  const id = current?.project_id ?? ''
  const open = queries.getQueryData(changeRequests(id, 'open').queryKey)?.change_requests ?? []
  const agents = queries.getQueryData(sessions(id).queryKey) ?? []
  return {
    pages: [
      { value: 'inbox', label: 'Inbox', where: '', to: paths.home },
      ...(current === undefined ? [] : pagesOf(current)),
      { value: 'projects', label: 'Projects', where: '', to: paths.projects },
      { value: 'new-project', label: 'New project', where: '', to: paths.newProject },
      ...accountPages.map(([to, label]) => ({ value: to, label, where: 'Account', to })),
    ],
    projects: all.map(({ project_id, name, slug }) => ({
      ...{ value: project_id, label: name, where: 'Project' },
      ...{ to: paths.changeRequests, params: { project: slug } },
    })),
    changeRequests: current === undefined ? [] : open.map((cr) => changeRequestTarget({ ...cr, project: current })),
    sessions: current === undefined ? [] : agents.map((session) => sessionTarget({ ...session, project: current })),
  }
}

function pagesOf({ name, slug }: Project): Target[] {
  const params = { project: slug }
  return [
    ...projectPages.map(({ to, label }) => ({ value: to, label, where: name, to, params })),
    { value: 'new-cr', label: 'New change request', where: name, to: paths.newChangeRequest, params },
  ]
}

type OfProject = { project: Pick<Project, 'name' | 'slug'> }

const changeRequestTarget = ({
  cr_id,
  number,
  title,
  status,
  project,
}: Pick<Found['change_requests'][number], 'cr_id' | 'number' | 'title' | 'status'> & OfProject): Target => ({
  ...{ value: cr_id, label: `#${number} ${title}`, to: paths.changeRequest },
  where: status === 'open' ? project.name : `${status} · ${project.name}`,
  params: { project: project.slug, number: String(number) },
})

const sessionTarget = ({
  session_id,
  name,
  project,
}: Pick<Found['sessions'][number], 'session_id' | 'name'> & OfProject): Target => ({
  ...{ value: session_id, label: name, where: project.name, to: paths.session },
  params: { project: project.slug, sessionId: session_id },
})

/** The most that are shown of what the pages have loaded while nothing is typed. */
const recentMax = 5

function matching(
  known: Known,
  { text, found, current }: { text: string; found: Found | undefined; current: Project | undefined },
): Group[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean)
  const isEmpty = words.length === 0
  const those = (targets: Target[]) =>
    targets.filter(({ label, where }) => words.every((word) => `${label} ${where}`.toLowerCase().includes(word)))
  // What the page has loaded comes first and stays there when the server answers.
  const both = (loaded: Target[], more: Target[]) => {
    const here = isEmpty ? loaded.slice(0, recentMax) : those(loaded).slice(0, recentMax)
    const ids = new Set(here.map(({ value }) => value))
    return [...here, ...more.filter(({ value }) => !ids.has(value))]
  }
  const listed: Group[] = [
    { value: 'Pages', items: those(known.pages) },
    { value: 'Projects', items: those(known.projects) },
  ]
  const work: Group[] = [
    {
      value: 'Change requests',
      items: both(known.changeRequests, (found?.change_requests ?? []).map(changeRequestTarget)),
    },
    { value: 'Sessions', items: both(known.sessions, (found?.sessions ?? []).map(sessionTarget)) },
  ]
  const inFiles = isEmpty || current === undefined ? [] : [filesTarget(current, text.trim())]
  const groups = isEmpty ? [...work, ...listed] : [...listed, ...work, { value: 'Files', items: inFiles }]
  return groups.filter(({ items }) => items.length > 0)
}

const filesTarget = ({ name, slug }: Project, text: string): Target => ({
  ...{ value: 'files', label: `Search all files for “${text}”`, where: name },
  ...{ to: paths.searchFiles, params: { project: slug }, search: { text } },
})
