/** The pages and projects of the palette. */
import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { Folder, Folders, Inbox, UserRound } from 'lucide-react'
import { me, type Role } from '../../../pages/account/queries.ts'
import type { Project } from '../../../pages/projects/queries.ts'
import { paths } from '../../../paths.ts'
import { useRole } from '../../role.ts'
import { accountPages, mayRead, ofOwners, projectPages } from '../rooms.ts'
import type { Target } from './target.ts'

export type Go = (to: string, params?: Record<string, string>, search?: Record<string, string>) => void

/** Goes to a page whose address is put together at run time, which the router's own types cannot follow. */
export function useGo(): Go {
  const navigate = useNavigate()
  return (to, params = {}, search = {}) => void navigate({ to, params, search })
}

export function usePages(current: Project | undefined, go: Go): Target[] {
  const role = useRole(current?.account_id ?? '')
  const { data } = useQuery(me)
  const isOwner = data?.accounts.some(({ role }) => role === 'owner') ?? false
  const page = (to: string, label: string, Icon: Target['Icon'], where = ''): Target => ({
    ...{ kind: 'page', value: to, label, Icon, where },
    run: () => go(to),
  })
  return [
    page(paths.home, 'Inbox', Inbox),
    ...(current === undefined ? [] : pagesOf(current, role, go)),
    page(paths.projects, 'Projects', Folders),
    ...accountPages
      .filter(([to]) => (isOwner || !ofOwners.includes(to)) && mayRead(to, data?.account.role ?? null))
      .map(([to, label]) => page(to, label, UserRound, 'Account')),
  ]
}

const pagesOf = ({ name, slug }: Project, role: Role | null, go: Go): Target[] =>
  projectPages
    .filter(({ to }) => mayRead(to, role))
    .map(({ to, label, Icon }) => ({
      ...{ kind: 'page', value: to, label, Icon, where: name },
      run: () => go(to, { project: slug }),
    }))

export const projectTargets = (all: Project[], go: Go): Target[] =>
  all.map(({ project_id, name, slug }) => ({
    ...{ kind: 'project', value: project_id, label: name, Icon: Folder, where: slug === name ? '' : slug },
    run: () => go(paths.project, { project: slug }),
  }))
