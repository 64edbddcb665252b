/** Every page by its URL. The code of a page loads when it is opened, or earlier when the pointer is over a link to it. */
import type { QueryClient } from '@tanstack/react-query'
import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  Outlet,
  redirect,
  type RouteComponent,
} from '@tanstack/react-router'
import { ApiError } from './api.ts'
import { lazy, PageFailure } from './components/lazy-code.tsx'
import { usePageFocus } from './components/page-focus.ts'
import { PendingPage, PendingShell } from './components/shell/pending.tsx'
import { ProjectShell } from './components/shell/project-shell.tsx'
import { firstPage } from './components/shell/rooms.ts'
import { Shell } from './components/shell/shell.tsx'
import { InboxPage } from './pages/inbox/page.tsx'
import { NotFoundPage } from './pages/not-found.tsx'
import { paths } from './paths.ts'
import { me } from './pages/account/queries.ts'
import { findProject } from './pages/projects/find-project.ts'
import { projects } from './pages/projects/queries.ts'

const root = createRootRouteWithContext<{ queries: QueryClient }>()({
  component: Root,
  notFoundComponent: NotFoundPage,
})

function Root() {
  usePageFocus()
  return <Outlet />
}

const signIn = createRoute({
  getParentRoute: () => root,
  path: paths.signIn,
  validateSearch: (search): { next?: string; problem?: string } => ({
    ...(isOwnPath(search.next) ? { next: search.next } : {}),
    ...texts(search, 'problem'),
  }),
  component: lazy(() => import('./pages/sign-in.tsx'), 'SignInPage'),
})

/** Checks the sign-in itself, because a redirect would put the terminal's fragment into another URL. */
const authorize = createRoute({
  getParentRoute: () => root,
  path: paths.authorize,
  component: lazy(() => import('./pages/authorize/page.tsx'), 'AuthorizePage'),
})

/** Outside the shell, which needs an account. */
const invitations = createRoute({
  getParentRoute: () => root,
  path: paths.invitations,
  component: lazy(() => import('./pages/invitations.tsx'), 'InvitationsPage'),
})

/** The pages below require a signed-in user. */
const shell = createRoute({
  getParentRoute: () => root,
  id: 'shell',
  component: Shell,
  pendingComponent: PendingShell,
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

type Module = Record<string, unknown>

const inShell = <P extends string, M extends Module>(path: P, load: () => Promise<M>, name: keyof M & string) =>
  createRoute({ getParentRoute: () => shell, path, component: lazy(load, name) as RouteComponent })

const project = createRoute({
  getParentRoute: () => shell,
  path: paths.project,
  component: ProjectShell,
})
/** The part of a project page's path below the project. */
const below = <P extends `/projects/$project/${string}`>(path: P) =>
  path.slice(paths.project.length) as P extends `/projects/$project${infer Rest}` ? Rest : never

const inProject = <P extends `/projects/$project/${string}`, M extends Module>(
  path: P,
  load: () => Promise<M>,
  name: keyof M & string,
) => createRoute({ getParentRoute: () => project, path: below(path), component: lazy(load, name) as RouteComponent })

const projectIndex = createRoute({
  getParentRoute: () => project,
  path: '/',
  beforeLoad: async ({ context: { queries }, params }) => {
    const [{ accounts }, all] = await Promise.all([queries.ensureQueryData(me), queries.ensureQueryData(projects)])
    const account = findProject(all, params.project)?.account_id
    const role = accounts.find(({ account_id }) => account_id === account)?.role ?? null
    throw redirect({ to: firstPage(role), params })
  },
})

const changeRequests = createRoute({
  getParentRoute: () => project,
  path: below(paths.changeRequests),
  validateSearch: (search): { status?: ListedStatus; search?: string; sort?: ListSort; author?: string } => ({
    ...(isListedStatus(search.status) ? { status: search.status } : {}),
    ...(isListSort(search.sort) ? { sort: search.sort } : {}),
    ...(typeof search.author === 'string' && isUuid.test(search.author) ? { author: search.author } : {}),
    // The router parses a number in the URL as a number.
    ...(typeof search.search === 'number' ? { search: String(search.search) } : texts(search, 'search')),
  }),
  component: lazy(() => import('./pages/change-requests/list/page.tsx'), 'ChangeRequestsPage'),
})

const newChangeRequest = createRoute({
  getParentRoute: () => project,
  path: below(paths.newChangeRequest),
  validateSearch: (search) => texts(search, 'head', 'base'),
  component: lazy(() => import('./pages/change-requests/new.tsx'), 'NewChangeRequestPage'),
})

const isCommit = (text: unknown): text is string => typeof text === 'string' && /^[0-9a-f]{40,64}$/.test(text)

const changeRequest = createRoute({
  getParentRoute: () => project,
  path: below(paths.changeRequest),
  validateSearch: (search): { tab?: ChangeRequestTab; since?: string; to?: string; path?: string; line?: number } => ({
    ...(isTab(search.tab) ? { tab: search.tab } : {}),
    // A place in the diff.
    ...plainTexts(search, 'path'),
    ...(Number.isSafeInteger(search.line) ? { line: search.line as number } : {}),
    ...(isCommit(search.since) ? { since: search.since } : {}),
    ...(isCommit(search.to) ? { to: search.to } : {}),
  }),
  component: lazy(() => import('./pages/change-requests/detail.tsx'), 'ChangeRequestPage'),
})

const sessions = createRoute({
  getParentRoute: () => project,
  path: below(paths.sessions),
  // The start of the page. The service rejects a cursor that it did not issue.
  validateSearch: (search) => texts(search, 'cursor'),
  component: lazy(() => import('./pages/sessions/list.tsx'), 'SessionsPage'),
})

const session = createRoute({
  getParentRoute: () => project,
  path: below(paths.session),
  // A place in the conversation, and what the panel shows beside it.
  validateSearch: (search): { message?: string; part?: string; panel?: 'preview'; port?: number } => ({
    ...texts(search, 'message', 'part'),
    ...(search.panel === 'preview' ? { panel: 'preview' } : {}),
    ...(isPort(search.port) ? { port: search.port } : {}),
  }),
  component: lazy(() => import('./pages/sessions/detail.tsx'), 'SessionPage'),
})

const sessionFiles = createRoute({
  getParentRoute: () => project,
  path: below(paths.sessionFiles),
  validateSearch: (search) => plainTexts(search, 'path'),
  component: lazy(() => import('./pages/sessions/files/page.tsx'), 'SessionFilesPage'),
})

const files = createRoute({
  getParentRoute: () => project,
  path: below(paths.files),
  validateSearch: (search): { ref?: string; path?: string; view?: 'blame' | 'edit' } => ({
    ...plainTexts(search, 'ref', 'path'),
    ...(search.view === 'blame' || search.view === 'edit' ? { view: search.view } : {}),
  }),
  component: lazy(() => import('./pages/files/page.tsx'), 'FilesPage'),
})

const searchFiles = createRoute({
  getParentRoute: () => project,
  path: below(paths.searchFiles),
  validateSearch: (search) => plainTexts(search, 'ref', 'text'),
  component: lazy(() => import('./pages/files/search.tsx'), 'SearchFilesPage'),
})

const commits = createRoute({
  getParentRoute: () => project,
  path: below(paths.commits),
  validateSearch: (search) => plainTexts(search, 'ref', 'path'),
  component: lazy(() => import('./pages/files/history.tsx'), 'HistoryPage'),
})

const openApp = createRoute({
  getParentRoute: () => project,
  path: below(paths.openApp),
  validateSearch: (search): { path?: string } => (isOwnPath(search.path) ? { path: search.path } : {}),
  component: lazy(() => import('./pages/apps/open.tsx'), 'OpenAppPage'),
})

const projectUsage = createRoute({
  getParentRoute: () => project,
  path: below(paths.projectUsage),
  validateSearch: daysOf,
  component: lazy(() => import('./pages/usage/of-project.tsx'), 'ProjectUsagePage'),
})

const audit = createRoute({
  getParentRoute: () => shell,
  path: paths.audit,
  validateSearch: (search) => texts(search, 'action', 'member', 'project'),
  component: lazy(() => import('./pages/audit/page.tsx'), 'AuditPage'),
})

const usage = createRoute({
  getParentRoute: () => shell,
  path: paths.usage,
  validateSearch: daysOf,
  component: lazy(() => import('./pages/usage/of-account.tsx'), 'AccountUsagePage'),
})

const inbox = createRoute({
  getParentRoute: () => shell,
  path: paths.home,
  validateSearch: (search): { view?: 'snoozed' | 'done'; project?: string } => ({
    ...(search.view === 'snoozed' || search.view === 'done' ? { view: search.view } : {}),
    ...texts(search, 'project'),
  }),
  component: InboxPage,
})

const ofProject = project.addChildren([
  projectIndex,
  changeRequests,
  newChangeRequest,
  changeRequest,
  sessions,
  session,
  sessionFiles,
  inProject(paths.terminal, () => import('./pages/sessions/terminal/page.tsx'), 'TerminalPage'),
  files,
  searchFiles,
  commits,
  inProject(paths.commit, () => import('./pages/files/commit.tsx'), 'CommitPage'),
  inProject(paths.branches, () => import('./pages/projects/branches.tsx'), 'BranchesPage'),
  inProject(paths.triggers, () => import('./pages/triggers/list.tsx'), 'TriggersPage'),
  inProject(paths.connectors, () => import('./pages/connectors/list.tsx'), 'ConnectorsPage'),
  inProject(paths.channels, () => import('./pages/channels/list.tsx'), 'ChannelsPage'),
  inProject(paths.apps, () => import('./pages/apps/list.tsx'), 'AppsPage'),
  openApp,
  inProject(paths.secrets, () => import('./pages/projects/secrets.tsx'), 'SecretsPage'),
  inProject(paths.projectTokens, () => import('./pages/projects/tokens.tsx'), 'ProjectTokensPage'),
  inProject(paths.webhooks, () => import('./pages/webhooks/list.tsx'), 'WebhooksPage'),
  projectUsage,
  inProject(paths.settings, () => import('./pages/projects/settings.tsx'), 'SettingsPage'),
])

/** Every part of `ui/`, in development builds. */
const parts = () =>
  createRoute({
    getParentRoute: () => root,
    path: '/ui',
    component: lazy(() => import('./pages/parts/page.tsx'), 'PartsPage'),
  })

const tree = root.addChildren([
  signIn,
  authorize,
  invitations,
  ...(import.meta.env.DEV ? [parts()] : []),
  shell.addChildren([
    inbox,
    inShell(paths.linkChat, () => import('./pages/channels/link-chat.tsx'), 'LinkChatPage'),
    inShell(paths.projects, () => import('./pages/projects/list.tsx'), 'ProjectsPage'),
    inShell(paths.newProject, () => import('./pages/projects/new.tsx'), 'NewProjectPage'),
    ofProject,
    inShell(paths.members, () => import('./pages/account/members.tsx'), 'MembersPage'),
    inShell(paths.tokens, () => import('./pages/account/tokens.tsx'), 'UserTokensPage'),
    audit,
    usage,
    inShell(paths.profile, () => import('./pages/account/profile.tsx'), 'ProfilePage'),
    inShell(paths.modelSettings, () => import('./pages/settings/model.tsx'), 'ModelSettingsPage'),
    inShell(paths.serverSettings, () => import('./pages/settings/server.tsx'), 'ServerPage'),
  ]),
])

export function makeRouter(queries: QueryClient) {
  return createRouter({
    routeTree: tree,
    context: { queries },
    defaultPreload: 'intent',
    defaultPendingComponent: PendingPage,
    defaultErrorComponent: PageFailure,
    scrollRestoration: true,
  })
}

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof makeRouter>
  }
}

/** A redirect target after sign-in: a path of these pages, never another origin (`//evil.test`). */
function isOwnPath(value: unknown): value is string {
  return typeof value === 'string' && /^\/(?![/\\])/.test(value)
}

/** The search parameters with these names that are texts. */
function texts<Name extends string>(search: Record<string, unknown>, ...names: Name[]): Partial<Record<Name, string>> {
  const found = names.flatMap((name) => (typeof search[name] === 'string' ? [[name, search[name]]] : []))
  return Object.fromEntries(found) as Partial<Record<Name, string>>
}

/** Texts that may look like a number or `true`, which the router parses: the name of a branch or a folder. */
function plainTexts<Name extends string>(search: Record<string, unknown>, ...names: Name[]) {
  const plain = Object.entries(search).map(([name, value]) => [
    name,
    typeof value === 'number' || typeof value === 'boolean' ? String(value) : value,
  ])
  return texts(Object.fromEntries(plain) as Record<string, unknown>, ...names)
}

function isPort(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 1 && (value as number) <= 65_535
}

function daysOf(search: Record<string, unknown>): { days?: number } {
  return typeof search.days === 'number' && Number.isInteger(search.days) && search.days >= 1 && search.days <= 366
    ? { days: search.days }
    : {}
}

const changeRequestTabs = ['files', 'conversation', 'commits', 'effects'] as const
type ChangeRequestTab = (typeof changeRequestTabs)[number]

function isTab(value: unknown): value is ChangeRequestTab {
  return changeRequestTabs.some((tab) => tab === value)
}

const listedStatuses = ['open', 'merged', 'closed', 'all'] as const
type ListedStatus = (typeof listedStatuses)[number]

const listSorts = ['updated', 'ready'] as const
type ListSort = (typeof listSorts)[number]

function isListSort(value: unknown): value is ListSort {
  return listSorts.some((sort) => sort === value)
}

const isUuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

function isListedStatus(value: unknown): value is ListedStatus {
  return listedStatuses.some((status) => status === value)
}
