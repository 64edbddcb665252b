/** What the palette finds on the server: change requests and sessions of all projects, and files of the open one. */
import { keepPreviousData, type QueryClient, queryOptions, useQuery, useQueryClient } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { GitMerge, GitPullRequest, GitPullRequestClosed, MessageSquare, TextSearch } from 'lucide-react'
import { useEffect, useState } from 'react'
import { get, type Reply } from '../../../api.ts'
import { changeRequests } from '../../../pages/change-requests/queries.ts'
import { findProject } from '../../../pages/projects/find-project.ts'
import { type Project, projects } from '../../../pages/projects/queries.ts'
import { sessions } from '../../../pages/sessions/queries.ts'
import { paths } from '../../../paths.ts'
import { visibleName } from '../../../ui/sanitizing-jsx/visible.ts'
import { fileIcons } from '../../file-icons.ts'
import type { Go } from './pages.ts'
import { type Group, matching, type Target, wordsOf } from './target.ts'

type Found = Reply<'/v1/find'>
type FoundChangeRequest = Found['change_requests'][number]
type FoundSession = Found['sessions'][number]

/** The pause after the last key that ends a word. */
const pauseMs = 150
/** The service refuses longer ones. */
const textMax = 256
const shownMax = 8
/** Before anything is typed. */
const loadedMax = 5
/** One letter is in almost every path. */
const pathTextMin = 2

const search = (text: string, projectId: string | undefined) =>
  queryOptions({
    queryKey: ['palette', text, projectId],
    queryFn: ({ signal }) =>
      get('/v1/find', { query: { text, ...(projectId !== undefined && { project_id: projectId }) } }, signal),
    enabled: text !== '',
    // The next answer replaces the rows in place.
    placeholderData: keepPreviousData,
    staleTime: 10_000,
    // The error is in the list at once, and the next key is the next try.
    retry: false,
  })

/** The server finds them among all paths, of which a repository may have tens of thousands. */
const filesWith = (text: string, projectId: string) =>
  queryOptions({
    queryKey: ['palette', 'files', text, projectId],
    queryFn: ({ signal }) =>
      get('/v1/projects/{projectId}/paths', { path: { projectId }, query: { search: text, limit: shownMax } }, signal),
    staleTime: 10_000,
    retry: false,
  })

export interface OnServer {
  groups: Group[]
  /** An answer for this text is on its way. */
  isSearching: boolean
  error: Error | null
  retry: () => void
}

export function useFound(typed: string, current: Project | undefined, go: Go): OnServer {
  const queries = useQueryClient()
  const text = typed.trim().slice(0, textMax)
  const settled = useSettled(text)
  const answer = useQuery(search(settled, current?.project_id))
  const isSearching = text !== settled || (settled !== '' && answer.isFetching)
  const isCurrent = !isSearching && settled !== '' && answer.isSuccess
  const files = useFiles(isSearching ? null : settled, current, go)
  const targets = targetsOf(queries, go)
  const known = isCurrent ? answer.data : whatIsLoaded(queries, current, answer.data)
  const list = <T>(items: T[], toTarget: (item: T) => Target) =>
    isCurrent ? items.map(toTarget) : matching(items.map(toTarget), wordsOf(text), text === '' ? loadedMax : shownMax)
  return {
    groups: [
      { value: 'Change requests', items: list(known.change_requests, targets.changeRequest) },
      { value: 'Sessions', items: list(known.sessions, targets.session) },
      { value: 'Files', items: files.items },
    ],
    isSearching,
    error: isSearching ? null : (answer.error ?? files.error),
    retry: () => void (answer.error === null ? files.retry() : answer.refetch()),
  }
}

function useSettled(text: string): string {
  const [settled, setSettled] = useState('')
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), pauseMs)
    return () => clearTimeout(timer)
  }, [text])
  return settled
}

/** What the pages have loaded, and what the last answer found: it is there until the answer is, and without the server. */
function whatIsLoaded(queries: QueryClient, current: Project | undefined, last: Found | undefined): Found {
  const found: Found = { change_requests: [...(last?.change_requests ?? [])], sessions: [...(last?.sessions ?? [])] }
  if (current === undefined) return found
  const { project_id: id, name, slug, default_branch: main } = current
  const project = { project_id: id, name, slug }
  const open = queries.getQueryData(changeRequests(id, 'open').queryKey)?.change_requests ?? []
  const agents = queries.getQueryData(sessions(id).queryKey) ?? []
  const [crIds, sessionIds] = [found.change_requests.map((cr) => cr.cr_id), found.sessions.map((s) => s.session_id)]
  found.change_requests.push(
    ...open
      .filter(({ cr_id }) => !crIds.includes(cr_id))
      .map(({ base_ref, ...cr }) => ({ ...cr, ...(base_ref === main ? {} : { base_ref }), project })),
  )
  found.sessions.push(
    ...agents
      .filter(({ session_id }) => !sessionIds.includes(session_id))
      .map((session) => Object.assign({}, session, { project })),
  )
  return found
}

const looks: Record<FoundChangeRequest['status'], Pick<Target, 'Icon' | 'tone'>> = {
  open: { Icon: GitPullRequest, tone: 'text-good' },
  merged: { Icon: GitMerge, tone: 'text-merged' },
  closed: { Icon: GitPullRequestClosed, tone: 'text-faint' },
}

function targetsOf(queries: QueryClient, go: Go) {
  // Two accounts may each have a project with this slug.
  const named = ({ slug, project_id: id }: Found['sessions'][number]['project']) =>
    findProject(queries.getQueryData(projects.queryKey) ?? [], slug)?.project_id === id ? slug : id
  return {
    changeRequest: ({ cr_id, number, title, status, head_ref, base_ref, project }: FoundChangeRequest): Target => ({
      ...{ kind: 'change request', value: cr_id, label: `#${number} ${title}`, also: head_ref },
      // Several of one branch differ by their base, or by what became of them.
      where: [
        ...(status === 'open' ? [] : [status]),
        ...(base_ref === undefined ? [] : [`into ${base_ref}`]),
        project.name,
      ].join(' · '),
      ...(status === 'open' ? { state: status } : {}),
      ...looks[status],
      run: () => go(paths.changeRequest, { project: named(project), number: String(number) }),
    }),
    session: ({ session_id: sessionId, name, status, project }: FoundSession): Target => ({
      ...{ kind: 'session', value: sessionId, label: name, where: project.name, Icon: MessageSquare, state: status },
      ...(status === 'running' ? { tone: 'text-good' } : {}),
      run: () => go(paths.session, { project: named(project), sessionId }),
    }),
  }
}

/** Only on the pages of a project: its files are what the page is about. `text` is null while it changes. */
function useFiles(text: string | null, current: Project | undefined, go: Go) {
  const { project: open } = useParams({ strict: false })
  const isOn = open !== undefined && current !== undefined && text !== null && text.length >= pathTextMin
  const { data, error, refetch } = useQuery({ ...filesWith(text ?? '', current?.project_id ?? ''), enabled: isOn })
  const retry = () => void refetch()
  if (!isOn) return { items: [], error: null, retry }
  const project = current.slug
  const items = (data?.files ?? []).map(({ path }): Target => ({
    ...{
      kind: 'file',
      value: `file ${path}`,
      label: visibleName(path),
      Icon: fileIcons.file[0],
      where: '',
      isCode: true,
    },
    run: () => go(paths.files, { project }, { path }),
  }))
  const inText: Target = {
    ...{
      kind: 'search',
      value: 'in all files',
      label: `Search the text of all files for “${visibleName(text)}”`,
      Icon: TextSearch,
    },
    ...{ where: current.name, isMinor: true },
    run: () => go(paths.searchFiles, { project }, { text }),
  }
  return { items: [...items, inText], error, retry }
}
