import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ReactNode, Ref } from 'react'
import { session } from '../pages/sessions/queries.ts'
import { paths } from '../paths.ts'
import { useProject } from './shell/project-shell.tsx'

export const linkClass = 'text-accent underline'

interface Linked {
  /** A slug or an id. */
  project: string
  ref?: Ref<HTMLAnchorElement>
  className?: string
  title?: string
  'aria-label'?: string
  children: ReactNode
}

export function SessionLink({ project, sessionId, ...rest }: Linked & { sessionId: string }) {
  return <Link className={linkClass} {...rest} to={paths.session} params={{ project, sessionId }} />
}

export function ChangeRequestLink({ project, number, ...rest }: Linked & { number: number }) {
  return <Link className={linkClass} {...rest} to={paths.changeRequest} params={{ project, number: String(number) }} />
}

/** Links to a session of the shown project by its name. */
export function NamedSessionLink({ sessionId }: { sessionId: string }) {
  const { project_id, slug } = useProject()
  const { data } = useQuery(session(project_id, sessionId))
  return (
    <SessionLink project={slug} sessionId={sessionId}>
      {data?.name ?? 'Session'}
    </SessionLink>
  )
}
