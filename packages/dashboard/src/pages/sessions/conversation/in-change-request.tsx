/** Where the lines of an edit are in the change request of the session's branch. */
import { fileWritesOf } from '@svc/contract/schemas/file-writes'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { use } from 'react'
import { ApiError } from '../../../api.ts'
import { linkClass } from '../../../components/links.tsx'
import { useProject } from '../../../components/shell/project-shell.tsx'
import { paths } from '../../../paths.ts'
import { visibleName } from '../../../ui/sanitizing-jsx/visible.ts'
import { rangeText } from '../../change-requests/origins/story.ts'
import { type ChangeRequest, changeRequestsOfBranch, origins } from '../../change-requests/queries.ts'
import type { Message } from '../queries.ts'
import { PlaceContext } from './place.ts'

type ToolPart = Extract<Message['parts'][number], { type: 'tool' }>

/** A patch may change many files, and each is one request. */
const filesMax = 5

export function InChangeRequest({ part }: { part: ToolPart }) {
  const { projectId = '', branch = '' } = use(PlaceContext) ?? {}
  const { data: all = [] } = useQuery({ ...changeRequestsOfBranch(projectId, branch), enabled: branch !== '' })
  const cr = all.find(({ status }) => status === 'open') ?? all[0]
  const files = [...new Set(fileWritesOf(part).map(({ path }) => path))].slice(0, filesMax)
  if (cr === undefined || files.length === 0) return null
  return (
    <ul className="border-t border-line px-3 py-1.5 text-dim">
      {files.map((path) => (
        <li key={path}>
          <FileIn cr={cr} path={path} callId={part.id} />
        </li>
      ))}
    </ul>
  )
}

function FileIn({ cr, path, callId }: { cr: ChangeRequest; path: string; callId: string }) {
  const { slug } = useProject()
  const { data, error } = useQuery(origins(cr, path))
  if (error instanceof ApiError && error.code === 'not_found')
    return `#${cr.number} does not change ${visibleName(path)}, or not yet.`
  if (error !== null) return `Couldn't look up these lines in #${cr.number}.`
  if (data === undefined) return `Looking for these lines in #${cr.number}…`
  const lines = data.lines.filter(({ call_id }) => call_id === callId)
  const [first] = lines
  if (first === undefined)
    return `Not in the diff of #${cr.number}: these lines were changed later, or they are not pushed yet.`
  const line = first.side === 'new' ? { line: first.start } : {}
  return (
    <Link
      to={paths.changeRequest}
      params={{ project: slug, number: String(cr.number) }}
      search={{ path, ...line }}
      className={linkClass}
    >
      In #{cr.number}, {lines.map(rangeText).join(', ')}
    </Link>
  )
}
