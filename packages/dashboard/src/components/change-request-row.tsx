import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { paths } from '../paths.ts'
import type { ChangeRequest } from '../queries.ts'
import { Row } from '../ui/card.tsx'
import { Time } from '../ui/time.tsx'
import { ChangeRequestStatus } from './status.tsx'

interface Shown {
  cr: ChangeRequest
  slug: string
  state?: ReactNode
  children: ReactNode
}

/** One change request in a list; `state` says more of it than its status does. */
export function ChangeRequestRow(shown: Shown) {
  return (
    <Row>
      <ChangeRequestCells {...shown} />
    </Row>
  )
}

export function ChangeRequestCells({ cr, slug, state, children }: Shown) {
  return (
    <>
      {state ?? <ChangeRequestStatus cr={cr} />}
      <Link
        to={paths.changeRequest}
        params={{ project: slug, number: String(cr.number) }}
        className="min-w-0 flex-1 basis-40 font-medium hover:underline"
      >
        #{cr.number} {cr.title}
      </Link>
      <span className="min-w-0 text-sm break-all text-dim">{children}</span>
      <Time at={cr.updated_at} />
    </>
  )
}
