/** Every page by its address. A page's code is loaded when it is first opened; a link under the pointer loads it ahead. */
import type { QueryClient } from '@tanstack/react-query'
import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  redirect,
} from '@tanstack/react-router'
import { ApiError } from './api.ts'
import { Failure } from './components/failure.tsx'
import { ProjectShell } from './components/project-shell.tsx'
import { Shell } from './components/shell.tsx'
import { HomePage } from './pages/home.tsx'
import { NotFoundPage } from './pages/not-found.tsx'
import { paths } from './paths.ts'
import { me } from './queries.ts'
import { Loading } from './ui/loading.tsx'

const root = createRootRouteWithContext<{ queries: QueryClient }>()({
  component: Outlet,
  notFoundComponent: NotFoundPage,
})

const signIn = createRoute({
  getParentRoute: () => root,
  path: paths.signIn,
  validateSearch: (search): { next?: string; problem?: string } => ({
    ...(isOwnPath(search.next) ? { next: search.next } : {}),
    ...(typeof search.problem === 'string' ? { problem: search.problem } : {}),
  }),
  component: lazyRouteComponent(() => import('./pages/sign-in.tsx'), 'SignInPage'),
})

/** It asks who it is by itself: what the terminal put behind the `#` goes into no other address. */
const authorize = createRoute({
  getParentRoute: () => root,
  path: paths.authorize,
  component: lazyRouteComponent(() => import('./pages/authorize/page.tsx'), 'AuthorizePage'),
})

/** Outside the shell, which needs an account. */
const invitations = createRoute({
  getParentRoute: () => root,
  path: paths.invitations,
  component: lazyRouteComponent(() => import('./pages/invitations.tsx'), 'InvitationsPage'),
})

/** Everything but sign-in asks who it is first. */
const shell = createRoute({
  getParentRoute: () => root,
  id: 'shell',
  component: Shell,
  beforeLoad: async ({ context, location }) => {
    try {
      await context.queries.ensureQueryData(me)
    } catch (error) {
      if (error instanceof ApiError && error.code === 'unauthenticated')
        throw redirect({ to: paths.signIn, search: location.href === '/' ? {} : { next: location.href } })
      throw error
    }
  },
})

const home = createRoute({ getParentRoute: () => shell, path: paths.home, component: HomePage })

const projects = createRoute({
  getParentRoute: () => shell,
  path: paths.projects,
  component: lazyRouteComponent(() => import('./pages/projects/list.tsx'), 'ProjectsPage'),
})

const newProject = createRoute({
  getParentRoute: () => shell,
  path: paths.newProject,
  component: lazyRouteComponent(() => import('./pages/projects/new.tsx'), 'NewProjectPage'),
})

const project = createRoute({
  getParentRoute: () => shell,
  path: paths.project,
  component: ProjectShell,
})
/** Addresses of a project's pages, cut to what stands below it. */
const below = <P extends `/projects/$project/${string}`>(path: P) =>
  path.slice(paths.project.length) as P extends `/projects/$project${infer Rest}` ? Rest : never

const projectIndex = createRoute({
  getParentRoute: () => project,
  path: '/',
  beforeLoad: ({ params }) => {
    throw redirect({ to: paths.changeRequests, params })
  },
})

const changeRequests = createRoute({
  getParentRoute: () => project,
  path: below(paths.changeRequests),
  validateSearch: (search): { status?: ListedStatus; search?: string } => ({
    ...(isListedStatus(search.status) ? { status: search.status } : {}),
    // A number in an address is read as one.
    ...(typeof search.search === 'string' || typeof search.search === 'number'
      ? { search: String(search.search) }
      : {}),
  }),
  component: lazyRouteComponent(() => import('./pages/change-requests/list.tsx'), 'ChangeRequestsPage'),
})

const newChangeRequest = createRoute({
  getParentRoute: () => project,
  path: below(paths.newChangeRequest),
  validateSearch: (search): { head?: string } => (typeof search.head === 'string' ? { head: search.head } : {}),
  component: lazyRouteComponent(() => import('./pages/change-requests/new.tsx'), 'NewChangeRequestPage'),
})

const sessions = createRoute({
  getParentRoute: () => project,
  path: below(paths.sessions),
  validateSearch: cursorOf,
  component: lazyRouteComponent(() => import('./pages/sessions/list.tsx'), 'SessionsPage'),
})

const changeRequest = createRoute({
  getParentRoute: () => project,
  path: below(paths.changeRequest),
  validateSearch: (search): { tab?: 'commits' | 'files' | 'effects'; since?: string } => ({
    ...(search.tab === 'commits' || search.tab === 'files' || search.tab === 'effects' ? { tab: search.tab } : {}),
    ...(typeof search.since === 'string' && /^[0-9a-f]{40,64}$/.test(search.since) ? { since: search.since } : {}),
  }),
  component: lazyRouteComponent(() => import('./pages/change-requests/detail.tsx'), 'ChangeRequestPage'),
})

const session = createRoute({
  getParentRoute: () => project,
  path: below(paths.session),
  component: lazyRouteComponent(() => import('./pages/sessions/detail.tsx'), 'SessionPage'),
})

const terminal = createRoute({
  getParentRoute: () => project,
  path: below(paths.terminal),
  component: lazyRouteComponent(() => import('./pages/sessions/terminal/page.tsx'), 'TerminalPage'),
})

const branches = createRoute({
  getParentRoute: () => project,
  path: below(paths.branches),
  component: lazyRouteComponent(() => import('./pages/projects/branches.tsx'), 'BranchesPage'),
})

const triggers = createRoute({
  getParentRoute: () => project,
  path: below(paths.triggers),
  component: lazyRouteComponent(() => import('./pages/triggers/list.tsx'), 'TriggersPage'),
})

const apps = createRoute({
  getParentRoute: () => project,
  path: below(paths.apps),
  component: lazyRouteComponent(() => import('./pages/apps/list.tsx'), 'AppsPage'),
})

const openApp = createRoute({
  getParentRoute: () => project,
  path: below(paths.openApp),
  validateSearch: (search): { path?: string } => ({ ...(isOwnPath(search.path) ? { path: search.path } : {}) }),
  component: lazyRouteComponent(() => import('./pages/apps/open.tsx'), 'OpenAppPage'),
})

const secrets = createRoute({
  getParentRoute: () => project,
  path: below(paths.secrets),
  component: lazyRouteComponent(() => import('./pages/projects/secrets.tsx'), 'SecretsPage'),
})

const projectTokens = createRoute({
  getParentRoute: () => project,
  path: below(paths.projectTokens),
  component: lazyRouteComponent(() => import('./pages/projects/tokens.tsx'), 'ProjectTokensPage'),
})

const webhooks = createRoute({
  getParentRoute: () => project,
  path: below(paths.webhooks),
  component: lazyRouteComponent(() => import('./pages/webhooks/list.tsx'), 'WebhooksPage'),
})

const projectUsage = createRoute({
  getParentRoute: () => project,
  path: below(paths.projectUsage),
  validateSearch: daysOf,
  component: lazyRouteComponent(() => import('./pages/usage/of-project.tsx'), 'ProjectUsagePage'),
})

const settings = createRoute({
  getParentRoute: () => project,
  path: below(paths.settings),
  component: lazyRouteComponent(() => import('./pages/projects/settings.tsx'), 'SettingsPage'),
})

const channels = createRoute({
  getParentRoute: () => project,
  path: below(paths.channels),
  component: lazyRouteComponent(() => import('./pages/channels/list.tsx'), 'ChannelsPage'),
})

const connectors = createRoute({
  getParentRoute: () => project,
  path: below(paths.connectors),
  component: lazyRouteComponent(() => import('./pages/connectors/list.tsx'), 'ConnectorsPage'),
})

const linkChat = createRoute({
  getParentRoute: () => shell,
  path: paths.linkChat,
  component: lazyRouteComponent(() => import('./pages/channels/link-chat.tsx'), 'LinkChatPage'),
})

const members = createRoute({
  getParentRoute: () => shell,
  path: paths.members,
  component: lazyRouteComponent(() => import('./pages/account/members.tsx'), 'MembersPage'),
})

const tokens = createRoute({
  getParentRoute: () => shell,
  path: paths.tokens,
  component: lazyRouteComponent(() => import('./pages/account/tokens.tsx'), 'UserTokensPage'),
})

const audit = createRoute({
  getParentRoute: () => shell,
  path: paths.audit,
  validateSearch: (search): { action?: string; member?: string; project?: string } => ({
    ...(typeof search.action === 'string' ? { action: search.action } : {}),
    ...(typeof search.member === 'string' ? { member: search.member } : {}),
    ...(typeof search.project === 'string' ? { project: search.project } : {}),
  }),
  component: lazyRouteComponent(() => import('./pages/audit/page.tsx'), 'AuditPage'),
})

const usage = createRoute({
  getParentRoute: () => shell,
  path: paths.usage,
  validateSearch: daysOf,
  component: lazyRouteComponent(() => import('./pages/usage/of-account.tsx'), 'AccountUsagePage'),
})

const profile = createRoute({
  getParentRoute: () => shell,
  path: paths.profile,
  component: lazyRouteComponent(() => import('./pages/account/profile.tsx'), 'ProfilePage'),
})

const modelSettings = createRoute({
  getParentRoute: () => shell,
  path: paths.modelSettings,
  component: lazyRouteComponent(() => import('./pages/settings/model.tsx'), 'ModelSettingsPage'),
})

const ofProject = project.addChildren([
  projectIndex,
  changeRequests,
  newChangeRequest,
  changeRequest,
  sessions,
  session,
  terminal,
  branches,
  triggers,
  connectors,
  channels,
  apps,
  openApp,
  secrets,
  projectTokens,
  webhooks,
  projectUsage,
  settings,
])
const tree = root.addChildren([
  signIn,
  authorize,
  invitations,
  shell.addChildren([
    linkChat,
    home,
    projects,
    newProject,
    ofProject,
    members,
    tokens,
    audit,
    usage,
    profile,
    modelSettings,
  ]),
])

export function makeRouter(queries: QueryClient) {
  return createRouter({
    routeTree: tree,
    context: { queries },
    defaultPreload: 'intent',
    defaultPendingComponent: () => <Loading what="the page" />,
    defaultErrorComponent: ({ error, reset }) => (
      <div className="mx-auto max-w-2xl p-6">
        <Failure error={error} retry={reset} />
      </div>
    ),
    scrollRestoration: true,
  })
}

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof makeRouter>
  }
}

/** Where sign-in may lead on to: a path of ours, never another origin (`//evil.test`). */
function isOwnPath(value: unknown): value is string {
  return typeof value === 'string' && /^\/(?![/\\])/.test(value)
}

/** Where a page of a list begins. The service refuses what it did not give. */
function cursorOf(search: Record<string, unknown>): { cursor?: string } {
  return typeof search.cursor === 'string' ? { cursor: search.cursor } : {}
}

/** The days a page of usage looks back. */
function daysOf(search: Record<string, unknown>): { days?: number } {
  return typeof search.days === 'number' && Number.isInteger(search.days) && search.days >= 1 && search.days <= 366
    ? { days: search.days }
    : {}
}

const listedStatuses = ['open', 'merged', 'closed', 'all'] as const
type ListedStatus = (typeof listedStatuses)[number]

function isListedStatus(value: unknown): value is ListedStatus {
  return listedStatuses.some((status) => status === value)
}
