import { queryOptions } from '@tanstack/react-query'
import { get, type Reply } from '../../../api.ts'
import { pathOf, type Session } from '../queries.ts'

const one = '/v1/projects/{projectId}/sessions/{sessionId}/files'

export type Found = Reply<typeof one>
export type Folder = Extract<Found, { type: 'directory' }>
export type Entry = Folder['entries'][number]
export type File = Extract<Found, { content: string }>

/** Below this key is all that was read. Not below its project, because no event says that a file changed. */
export const filesKey = ({ session_id: id }: Session) => ['session-files', id]

/** Read again when a turn begins or ends, and when the page asks for it. */
export const sessionFiles = (session: Session, path: string) =>
  queryOptions({
    queryKey: [...filesKey(session), session.status, session.is_busy, path],
    queryFn: ({ signal }) => get(one, { path: pathOf(session), query: path === '' ? {} : { path } }, signal),
    // What was read before the turn ended stays until the newer state is here.
    placeholderData: (before, query) => (query?.queryKey.at(-1) === path ? before : undefined),
    staleTime: 5_000,
  })
