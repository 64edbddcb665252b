/** The pages of a project and of an account, as the sidebar, the breadcrumbs, and the palette name them. */
import {
  AppWindow,
  ChartNoAxesColumn,
  Files,
  GitBranch,
  GitPullRequest,
  Hash,
  KeyRound,
  Lock,
  MessageSquare,
  Plug,
  Settings,
  Timer,
  Webhook,
} from 'lucide-react'
import type { Role } from '../../pages/account/queries.ts'
import { paths } from '../../paths.ts'

/** Daily pages first. `also` is a page that belongs to another one and has no link of its own. */
export const rooms = [
  {
    label: null,
    pages: [
      { to: paths.changeRequests, label: 'Change requests', Icon: GitPullRequest },
      { to: paths.sessions, label: 'Sessions', Icon: MessageSquare },
      { to: paths.files, also: paths.commits, label: 'Files', Icon: Files },
      { to: paths.branches, label: 'Branches', Icon: GitBranch },
    ],
  },
  {
    label: 'Automation',
    pages: [
      { to: paths.triggers, label: 'Triggers', Icon: Timer },
      { to: paths.apps, label: 'Apps', Icon: AppWindow },
      { to: paths.connectors, label: 'Connectors', Icon: Plug },
      { to: paths.channels, label: 'Channels', Icon: Hash },
      { to: paths.webhooks, label: 'Webhooks', Icon: Webhook },
    ],
  },
  {
    label: 'Settings',
    pages: [
      { to: paths.secrets, label: 'Secrets', Icon: Lock },
      { to: paths.projectTokens, label: 'Tokens', Icon: KeyRound },
      { to: paths.projectUsage, label: 'Usage', Icon: ChartNoAxesColumn },
      { to: paths.settings, label: 'Project settings', Icon: Settings },
    ],
  },
] as const

/** Pages whose content the service shows only from this role on. */
const readers: Partial<Record<string, readonly Role[]>> = {
  [paths.changeRequests]: ['member', 'admin', 'owner'],
  [paths.projectTokens]: ['member', 'admin', 'owner'],
  [paths.webhooks]: ['admin', 'owner'],
  [paths.audit]: ['admin', 'owner'],
}

/** `role` is null while it is unknown. */
export const mayRead = (to: string, role: Role | null) => role === null || (readers[to]?.includes(role) ?? true)

/** Where a project opens. */
export const firstPage = (role: Role | null) =>
  mayRead(paths.changeRequests, role) ? paths.changeRequests : paths.sessions

export const projectPages = rooms.flatMap(({ pages }) => [...pages])

export const accountPages = [
  [paths.members, 'Members'],
  [paths.tokens, 'Tokens'],
  [paths.usage, 'Usage'],
  [paths.audit, 'Audit'],
  [paths.modelSettings, 'Model'],
  [paths.serverSettings, 'Server'],
  [paths.profile, 'Profile'],
] as const

/** Only owners of the instance see them. */
export const ofOwners: readonly string[] = [paths.modelSettings, paths.serverSettings]

/** The titles of the pages outside a project, whose pages set their own. */
export const titles: Readonly<Record<string, string>> = {
  [paths.home]: '',
  [paths.projects]: 'Projects',
  [paths.newProject]: 'New project',
  [paths.members]: 'Members',
  [paths.tokens]: 'Your tokens',
  [paths.audit]: 'Audit log',
  [paths.usage]: 'Usage',
  [paths.profile]: 'Profile',
  [paths.modelSettings]: 'Model',
  [paths.serverSettings]: 'Server',
}
