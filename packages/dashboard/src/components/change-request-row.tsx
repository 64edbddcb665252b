import type { ReactNode } from 'react'
import type { ChangeRequest } from '../pages/change-requests/queries.ts'
import { Time } from '../ui/text.tsx'
import { ChangeRequestStatus } from './status.tsx'
import { ChangeRequestLink } from './links.tsx'

interface Shown {
  cr: ChangeRequest
  slug: string
  state?: ReactNode
  children: ReactNode
}

/** One change request in a list. `state` replaces its status with a more specific one. */
export function ChangeRequestCells({ cr, slug, state, children }: Shown) {
  return (
    <>
      {state ?? <ChangeRequestStatus cr={cr} />}
      <ChangeRequestLink
        project={slug}
        number={cr.number}
        className="min-w-0 flex-1 basis-40 font-medium hover:underline"
      >
        #{cr.number} {cr.title}
      </ChangeRequestLink>
      <span className="min-w-0 text-sm break-all text-dim">{children}</span>
      <Time at={cr.updated_at} />
    </>
  )
}
