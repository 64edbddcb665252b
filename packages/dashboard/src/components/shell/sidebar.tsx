import { Link, useMatchRoute } from '@tanstack/react-router'
import { Folders, Inbox, type LucideIcon, Plus } from 'lucide-react'
import { type ReactNode, useId } from 'react'
import { useQuery } from '@tanstack/react-query'
import { me } from '../../pages/account/queries.ts'
import type { Project } from '../../pages/projects/queries.ts'
import { paths } from '../../paths.ts'
import { Kbd } from '../../ui/kbd.tsx'
import { useRole } from '../role.ts'
import { useOpenCount, useRunningCount } from './counts.ts'
import { useCurrentProject } from './current-project.ts'
import { paletteKey } from './palette-key.ts'
import { ProjectSwitcher } from './project-switcher.tsx'
import { mayRead, rooms } from './rooms.ts'
import { UserMenu } from './user-menu.tsx'

/** Daily work first, what is set up once below. */
export function Sidebar({ onSearch }: { onSearch: () => void }) {
  const { data } = useQuery(me)
  const { current, all } = useCurrentProject()
  return (
    <div className="flex h-full flex-col gap-3 px-2 pt-3 pb-2">
      <Link to={paths.home} className="flex items-center gap-2 px-2 text-lg font-semibold">
        <span aria-hidden className="size-4.5 rounded-[5px] bg-linear-135 from-accent-fill to-merged" />
        svc
      </Link>
      <button
        type="button"
        onClick={onSearch}
        aria-keyshortcuts={paletteKey.spoken}
        className="flex min-h-control flex-none items-center gap-2 rounded-md border border-edge bg-panel px-2 text-sm text-faint hover:text-text"
      >
        <span className="flex-1 truncate text-left">Search or jump to…</span>
        <Kbd>{paletteKey.shown}</Kbd>
      </button>
      <nav aria-label="Main">
        <ul className="flex flex-col gap-px">
          <NavItem Icon={Inbox}>
            <Link to={paths.home} activeOptions={{ exact: true }} {...linkProps}>
              Inbox
            </Link>
          </NavItem>
          <NavItem Icon={Folders}>
            <Link to={paths.projects} activeOptions={{ exact: true }} {...linkProps}>
              Projects
            </Link>
          </NavItem>
          {data !== undefined && all.length === 0 && (
            <NavItem Icon={Plus}>
              <Link to={paths.newProject} {...linkProps}>
                New project
              </Link>
            </NavItem>
          )}
        </ul>
      </nav>
      <div className="-mx-2 min-h-0 flex-1 overflow-y-auto px-2">
        {current !== undefined && <ProjectRooms project={current} all={all} />}
      </div>
      {data !== undefined && <UserMenu name={data.user.name} account={data.account} accounts={data.accounts} />}
    </div>
  )
}

function ProjectRooms({ project, all }: { project: Project; all: Project[] }) {
  const captions = useId()
  const isAt = useMatchRoute()
  const role = useRole(project.account_id)
  const counts: Record<string, ReactNode> = {
    [paths.changeRequests]: <OpenCount projectId={project.project_id} />,
    [paths.sessions]: <RunningCount projectId={project.project_id} />,
  }
  return (
    <nav aria-label="Project" className="flex flex-col gap-px">
      <ProjectSwitcher current={project} all={all} />
      {rooms.map(({ label, pages }) => (
        <div key={label}>
          {label !== null && (
            <p id={captions + label} className="px-2 pt-4 pb-1 text-xs font-semibold text-faint">
              {label}
            </p>
          )}
          <ul aria-labelledby={label === null ? undefined : captions + label} className="flex flex-col gap-px">
            {pages
              .filter(({ to }) => mayRead(to, role))
              .map(({ to, label, Icon, ...page }) => (
                <NavItem key={to} Icon={Icon} count={counts[to]}>
                  <Link
                    to={to}
                    params={{ project: project.slug }}
                    aria-current={'also' in page && isAt({ to: page.also, fuzzy: true }) ? 'page' : undefined}
                    {...linkProps}
                  >
                    {label}
                  </Link>
                </NavItem>
              ))}
          </ul>
        </div>
      ))}
    </nav>
  )
}

const iconClass = 'size-3.75 flex-none stroke-[1.6]'

/** The link covers the whole row. */
const linkProps = {
  className: 'min-w-0 flex-1 truncate after:absolute after:inset-0 after:rounded-md',
  activeProps: { 'aria-current': 'page' },
} as const

function NavItem({ Icon, count, children }: { Icon: LucideIcon; count?: ReactNode; children: ReactNode }) {
  return (
    <li className="relative flex items-center gap-2 rounded-md px-2 py-nav text-sm font-medium text-dim hover:bg-hover hover:text-text has-[[aria-current=page]]:bg-hover has-[[aria-current=page]]:text-text">
      <Icon aria-hidden className={iconClass} />
      {children}
      {count}
    </li>
  )
}

function OpenCount({ projectId }: { projectId: string }) {
  return <Count of="open change requests">{useOpenCount(projectId)}</Count>
}

function RunningCount({ projectId }: { projectId: string }) {
  return <Count of="running sessions">{useRunningCount(projectId)}</Count>
}

function Count({ of, children }: { of: string; children: string | null }) {
  if (children === null) return null
  return (
    <span className="text-xs font-semibold text-faint tabular-nums">
      {children} <span className="sr-only">{of}</span>
    </span>
  )
}
