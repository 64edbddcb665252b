/** Jump to any page, project, change request, or session by name. It knows what the pages have loaded, and sends no request. */
import { Autocomplete } from '@base-ui/react/autocomplete'
import { type QueryClient, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useMemo } from 'react'
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
import { accountPages, projectPages } from './rooms.ts'

interface Target {
  /** Unique in the palette. */
  value: string
  label: string
  where: string
  to: string
  params?: Record<string, string>
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
  const groups = useMemo(() => groupsOf(queries, current, all), [queries, current, all])
  const go = ({ to, params = {} }: Target) => {
    close()
    void navigate({ to, params })
  }
  return (
    <SearchDialog label="Search or jump to" onClose={close}>
      <SearchRoot
        {...searchOptions}
        items={groups}
        value={text}
        onValueChange={(next, { reason }) => reason !== 'item-press' && onText(next)}
        itemToStringValue={({ label, where }: Target) => `${label} ${where}`}
      >
        <SearchInput label="Search or jump to" placeholder="Search or jump to…" onFocus={onFocus} />
        <Autocomplete.Empty>
          <p className="p-4 text-sm text-dim">Nothing found.</p>
        </Autocomplete.Empty>
        <SearchList>
          {(group: Group) => (
            <Autocomplete.Group key={group.value} items={group.items}>
              <Autocomplete.GroupLabel className="px-3 pt-3 pb-1 text-xs font-semibold text-faint">
                {group.value}
              </Autocomplete.GroupLabel>
              <Autocomplete.Collection>
                {(target: Target) => (
                  <SearchItem key={target.value} value={target} onClick={() => go(target)}>
                    <span className="min-w-0 flex-1 truncate">{target.label}</span>
                    <span className="max-w-40 truncate text-xs text-dim">{target.where}</span>
                  </SearchItem>
                )}
              </Autocomplete.Collection>
            </Autocomplete.Group>
          )}
        </SearchList>
      </SearchRoot>
    </SearchDialog>
  )
}

function groupsOf(queries: QueryClient, current: Project | undefined, all: Project[]): Group[] {
  const pages: Target[] = [
    { value: 'inbox', label: 'Inbox', where: '', to: paths.home },
    ...(current === undefined ? [] : pagesOf(current)),
    { value: 'projects', label: 'Projects', where: '', to: paths.projects },
    { value: 'new-project', label: 'New project', where: '', to: paths.newProject },
    ...accountPages.map(([to, label]) => ({ value: to, label, where: 'Account', to })),
  ]
  const projects = all.map(({ project_id, name, slug }) => ({
    ...{ value: project_id, label: name, where: 'Project' },
    ...{ to: paths.changeRequests, params: { project: slug } },
  }))
  const groups: Group[] = [
    ...(current === undefined ? [] : loadedIn(queries, current)),
    { value: 'Pages', items: pages },
    { value: 'Projects', items: projects },
  ]
  return groups.filter(({ items }) => items.length > 0)
}

function pagesOf({ name, slug }: Project): Target[] {
  const params = { project: slug }
  return [
    ...projectPages.map(({ to, label }) => ({ value: to, label, where: name, to, params })),
    { value: 'new-cr', label: 'New change request', where: name, to: paths.newChangeRequest, params },
  ]
}

function loadedIn(queries: QueryClient, { project_id: projectId, name, slug: project }: Project): Group[] {
  const open = queries.getQueryData(changeRequests(projectId, 'open').queryKey)?.change_requests ?? []
  const agents = queries.getQueryData(sessions(projectId).queryKey) ?? []
  return [
    {
      value: 'Change requests',
      items: open.map(({ cr_id, number, title }) => ({
        ...{ value: cr_id, label: `#${number} ${title}`, where: name, to: paths.changeRequest },
        params: { project, number: String(number) },
      })),
    },
    {
      value: 'Sessions',
      items: agents.map((session) => ({
        ...{ value: session.session_id, label: session.name, where: name, to: paths.session },
        params: { project, sessionId: session.session_id },
      })),
    },
  ]
}
