/** What the palette does itself, or opens a form for. Nothing here is lost by a wrong key. */
import { useLocation } from '@tanstack/react-router'
import { Keyboard, LogOut, MessageSquarePlus, Monitor, Moon, Plus, Rows3, Rows4, Sun } from 'lucide-react'
import { applyDensity, density } from '../../../browser/density.ts'
import { applyTheme, theme } from '../../../browser/theme.ts'
import type { Project } from '../../../pages/projects/queries.ts'
import { paths } from '../../../paths.ts'
import { showShortcuts } from '../../../ui/use-shortcuts.ts'
import { useWriteRefusal } from '../../role.ts'
import { signOut } from '../sign-out.ts'
import type { Go } from './pages.ts'
import type { Target } from './target.ts'

type Action = Omit<Target, 'kind'>

export function useActions(current: Project | undefined, go: Go): Target[] {
  const { pathname, search } = useLocation()
  const refusal = useWriteRefusal(current?.account_id ?? '')
  // The pages that answer `?`.
  const hasKeys = pathname === paths.home || (/\/change-requests\/\d+$/.test(pathname) && search.tab === 'files')
  const actions: Action[] = [
    ...(current === undefined || refusal !== null ? [] : inProject(current, go)),
    { value: 'new-project', label: 'New project', Icon: Plus, where: '', run: () => go(paths.newProject) },
    ...(hasKeys ? [shortcuts] : []),
    ...appearance(),
    { value: 'sign-out', label: 'Sign out', Icon: LogOut, where: '', also: 'log out logout', run: signOut },
  ]
  return actions.map((action) => ({ kind: 'action', ...action }))
}

const inProject = ({ name, slug: project }: Project, go: Go): Action[] => [
  {
    ...{ value: 'new-session', label: 'New session', Icon: MessageSquarePlus, where: name, also: 'start agent' },
    run: () => go(paths.sessions, { project }),
  },
  {
    ...{ value: 'new-cr', label: 'New change request', Icon: Plus, where: name },
    run: () => go(paths.newChangeRequest, { project }),
  },
]

const shortcuts: Action = {
  ...{ value: 'shortcuts', label: 'Show keyboard shortcuts', Icon: Keyboard, where: '', also: 'help' },
  run: showShortcuts,
}

function appearance(): Action[] {
  const themes = [
    ['light', 'Use the light theme', Sun],
    ['dark', 'Use the dark theme', Moon],
    ['system', 'Use the theme of the system', Monitor],
  ] as const
  const densities = [
    ['compact', 'Use compact rows', Rows4],
    ['comfortable', 'Use comfortable rows', Rows3],
  ] as const
  return [
    ...themes
      .filter(([each]) => each !== theme())
      .map(([each, label, Icon]): Action => ({
        ...{ value: `theme-${each}`, label, Icon, where: '', also: 'switch appearance mode' },
        run: () => applyTheme(each),
      })),
    ...densities
      .filter(([each]) => each !== density())
      .map(([each, label, Icon]): Action => ({
        ...{ value: `density-${each}`, label, Icon, where: '', also: 'switch appearance density' },
        run: () => applyDensity(each),
      })),
  ]
}
