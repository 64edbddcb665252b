import { useQuery } from '@tanstack/react-query'
import { Link, Outlet, useLocation } from '@tanstack/react-router'
import { paths } from '../../paths.ts'
import { me } from '../../pages/account/queries.ts'
import { useTitle } from '../../ui/title.ts'
import { Reconnecting } from './reconnecting.tsx'
import { Notices } from './notices.tsx'
import { UserMenu } from './user-menu.tsx'

/** Project pages set their own titles. */
const titles: Readonly<Record<string, string>> = {
  [paths.home]: '',
  [paths.projects]: 'Projects',
  [paths.newProject]: 'New project',
  [paths.members]: 'Members',
  [paths.tokens]: 'Your tokens',
  [paths.audit]: 'Audit log',
  [paths.usage]: 'Usage',
  [paths.profile]: 'Profile',
  [paths.modelSettings]: 'Model',
}

export function Shell() {
  const { data } = useQuery(me)
  const { pathname } = useLocation()
  useTitle(titles[pathname] ?? null)
  return (
    <>
      <a
        href="#main"
        className="absolute left-2 z-50 -translate-y-20 rounded-md bg-accent-fill px-3 py-2 text-white focus:translate-y-2"
      >
        Skip to content
      </a>
      <header className="border-b border-line bg-raised">
        <nav aria-label="Main" className="mx-auto flex min-h-12 max-w-7xl items-center gap-4 px-4">
          <Link to={paths.home} className="text-base font-semibold">
            svc
          </Link>
          <Link to={paths.projects} className="text-dim hover:text-text" activeProps={{ className: 'text-text' }}>
            Projects
          </Link>
          <span className="flex-1" />
          {data !== undefined && <UserMenu name={data.user.name} account={data.account} accounts={data.accounts} />}
        </nav>
      </header>
      <main id="main" tabIndex={-1} className="mx-auto max-w-7xl px-4 py-6 outline-none">
        <Reconnecting />
        <Notices />
        <Outlet />
      </main>
    </>
  )
}
