import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ReactNode, Ref } from 'react'
import { session } from '../pages/sessions/queries.ts'
import { paths } from '../paths.ts'

export const linkClass = 'text-accent underline'

interface Linked {
  /** A slug or an id. */
  project: string
  ref?: Ref<HTMLAnchorElement>
  className?: string
  children: ReactNode
}

export function SessionLink({ project, sessionId, ...rest }: Linked & { sessionId: string }) {
  return <Link className={linkClass} {...rest} to={paths.session} params={{ project, sessionId }} />
}

export function ChangeRequestLink({ project, number, ...rest }: Linked & { number: number }) {
  return <Link className={linkClass} {...rest} to={paths.changeRequest} params={{ project, number: String(number) }} />
}

/** Links to a session by its name. */
export function NamedSessionLink({
  projectId,
  project,
  sessionId,
}: Record<'projectId' | 'project' | 'sessionId', string>) {
  const { data } = useQuery(session(projectId, sessionId))
  return (
    <SessionLink project={project} sessionId={sessionId}>
      {data?.name ?? 'Session'}
    </SessionLink>
  )
}
