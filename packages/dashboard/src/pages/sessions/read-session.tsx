import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { isNotFound } from '../../api.ts'
import { linkClass } from '../../components/links.tsx'
import { NoSuch } from '../../components/no-such.tsx'
import { QueryResult } from '../../components/requests.tsx'
import { PendingPage } from '../../components/shell/pending.tsx'
import { useProject } from '../../components/shell/project-shell.tsx'
import { paths } from '../../paths.ts'
import { type Session, session } from './queries.ts'

/** A page of one session, until it is deleted. */
export function ReadSession({ sessionId, children }: { sessionId: string; children: (session: Session) => ReactNode }) {
  const { project_id: projectId, slug } = useProject()
  const found = useQuery(session(projectId, sessionId))
  if (isNotFound(found.error))
    return (
      <NoSuch
        title={found.data === undefined ? found.error.message : 'This session was deleted'}
        link={
          <Link to={paths.sessions} params={{ project: slug }} className={linkClass}>
            See the sessions of this project
          </Link>
        }
      />
    )
  if (found.isPending) return <PendingPage what="the session" />
  return (
    <QueryResult of={found} what="the session">
      {children}
    </QueryResult>
  )
}
