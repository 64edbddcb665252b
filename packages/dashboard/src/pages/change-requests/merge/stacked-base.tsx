/** A base that is itself the head of a change request: where the work lands, and where it does not. */
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { shortBranch } from '../../../components/branch-name.tsx'
import { ChangeRequestLink, linkClass } from '../../../components/links.tsx'
import { useProject } from '../../../components/shell/project-shell.tsx'
import { paths } from '../../../paths.ts'
import { Notice } from '../../../ui/layout.tsx'
import { type ChangeRequest, changeRequestsOfBranch } from '../queries.ts'

export interface StackedOn {
  below: ChangeRequest
  /** The base has nothing beyond what was merged from it. */
  isMerged: boolean
}

/** The change request of the base branch. A branch with newer commits than were merged is in use, such as a `develop`. */
export function useStackedOn(cr: ChangeRequest): { stackedOn: StackedOn | null; isLoading: boolean } {
  const { default_branch: main } = useProject()
  const isAside = cr.base_ref !== main && cr.status !== 'closed'
  const { data = [], isLoading } = useQuery({
    ...changeRequestsOfBranch(cr.project_id, cr.base_ref),
    enabled: isAside,
  })
  return { stackedOn: isAside ? stackedOn(cr, data) : null, isLoading }
}

function stackedOn(cr: ChangeRequest, ofBase: ChangeRequest[]): StackedOn | null {
  const elsewhere = ofBase.filter(({ base_ref: into }) => into !== cr.base_ref && into !== cr.head_ref)
  const open = elsewhere.find(({ status }) => status === 'open')
  if (open !== undefined) return cr.status === 'open' ? { below: open, isMerged: false } : null
  const merged = elsewhere.find(
    ({ status, head_commit_sha: head }) => status === 'merged' && head === cr.base_commit_sha,
  )
  return merged === undefined ? null : { below: merged, isMerged: true }
}

export function StackedBase({
  cr,
  stackedOn,
  frame: Frame,
}: {
  cr: ChangeRequest
  stackedOn: StackedOn | null
  frame: (content: { children: ReactNode }) => ReactNode
}) {
  const { slug } = useProject()
  if (stackedOn === null) return null
  const { below, isMerged } = stackedOn
  const link = (
    <ChangeRequestLink project={slug} number={below.number}>
      #{below.number} {below.title}
    </ChangeRequestLink>
  )
  if (!isMerged)
    return (
      <Frame>
        <Notice tone="neutral" title={`Stacked on #${below.number}`}>
          This merges into {shortBranch(cr.base_ref)}, which {link} merges into {below.base_ref}. Merge this one first
          for both to reach {below.base_ref}.
        </Notice>
      </Frame>
    )
  return (
    <Frame>
      <Notice tone="warn" title={`${shortBranch(cr.base_ref)} was merged in #${below.number}`}>
        {link} merged it into {below.base_ref} without this work, and a merge here does not reach {below.base_ref} by
        itself.{' '}
        <Link
          className={linkClass}
          to={paths.newChangeRequest}
          params={{ project: slug }}
          search={{ head: cr.head_ref, base: below.base_ref }}
        >
          Propose {shortBranch(cr.head_ref)} for {below.base_ref}
        </Link>
      </Notice>
    </Frame>
  )
}
