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
