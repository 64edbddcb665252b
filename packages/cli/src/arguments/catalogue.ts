/** Every command by name. A command is loaded only when it runs or help lists it, so that the others don't slow the start. */
import type { AnyCommand } from './command.ts'

export interface Leaf {
  load(): Promise<AnyCommand>
  aliases: readonly string[]
}
export interface Group {
  summary: string
  aliases: readonly string[]
  commands: Readonly<Record<string, Leaf>>
}
export type Entry = Leaf | Group

const leaf = (load: () => Promise<AnyCommand>, ...aliases: string[]): Leaf => ({ load, aliases })
const group = (summary: string, aliases: string[], commands: Group['commands']): Group => ({
  summary,
  aliases,
  commands,
})

export const catalogue: Readonly<Record<string, Entry>> = {
  login: leaf(async () => (await import('../commands/sign-in/login.ts')).login),
  logout: leaf(async () => (await import('../commands/sign-in/signed-in.ts')).logout),
  whoami: leaf(async () => (await import('../commands/sign-in/signed-in.ts')).whoami),
  status: leaf(async () => (await import('../commands/status.ts')).status),
  inbox: leaf(async () => (await import('../commands/inbox.ts')).inbox),
  init: leaf(async () => (await import('../commands/init.ts')).init),
  ship: leaf(async () => (await import('../commands/ship.ts')).ship, 'deploy'),
  tour: leaf(async () => (await import('../commands/tour.ts')).tour),
  projects: group('Projects: each is one git repository', ['project'], {
    create: leaf(async () => (await import('../commands/projects/create.ts')).create, 'new'),
    ls: leaf(async () => (await import('../commands/projects/projects.ts')).ls, 'list'),
    info: leaf(async () => (await import('../commands/projects/projects.ts')).info, 'show'),
    link: leaf(async () => (await import('../commands/projects/link.ts')).link),
    open: leaf(async () => (await import('../commands/projects/projects.ts')).open),
    unlink: leaf(async () => (await import('../commands/projects/projects.ts')).unlink),
    webhook: leaf(async () => (await import('../commands/projects/projects.ts')).webhook),
    rm: leaf(async () => (await import('../commands/projects/projects.ts')).rm, 'delete'),
    restore: leaf(async () => (await import('../commands/projects/projects.ts')).restore),
  }),
  sessions: group('Sessions: conversations with an agent, each on its own branch', ['session'], {
    new: leaf(async () => (await import('../commands/sessions/lifecycle/new.ts')).newSession, 'create'),
    ls: leaf(async () => (await import('../commands/sessions/sessions.ts')).ls, 'list'),
    info: leaf(async () => (await import('../commands/sessions/sessions.ts')).info, 'show'),
    chat: leaf(async () => (await import('../commands/sessions/conversation/chat.ts')).chat, 'talk'),
    watch: leaf(async () => (await import('../commands/sessions/conversation/watch.ts')).watch),
    log: leaf(async () => (await import('../commands/sessions/conversation/log.ts')).log, 'transcript'),
    questions: leaf(async () => (await import('../commands/sessions/conversation/questions.ts')).questions),
    answer: leaf(async () => (await import('../commands/sessions/conversation/questions.ts')).answer),
    open: leaf(async () => (await import('../commands/sessions/sessions.ts')).open),
    recover: leaf(async () => (await import('../commands/sessions/recover.ts')).recover),
    preview: leaf(async () => (await import('../commands/sessions/sessions.ts')).preview),
    shell: leaf(async () => (await import('../commands/sessions/shell.ts')).shell),
    files: leaf(async () => (await import('../commands/sessions/files.ts')).files),
    rename: leaf(async () => (await import('../commands/sessions/sessions.ts')).rename),
    abort: leaf(async () => (await import('../commands/sessions/conversation/abort.ts')).abort),
    queue: leaf(async () => (await import('../commands/sessions/conversation/queue.ts')).queue, 'prompts'),
    cancel: leaf(async () => (await import('../commands/sessions/conversation/queue.ts')).cancel),
    stop: leaf(async () => (await import('../commands/sessions/lifecycle/lifecycle.ts')).stop),
    restart: leaf(async () => (await import('../commands/sessions/lifecycle/lifecycle.ts')).restart),
    refresh: leaf(async () => (await import('../commands/sessions/lifecycle/lifecycle.ts')).refresh),
    rm: leaf(async () => (await import('../commands/sessions/lifecycle/lifecycle.ts')).rm, 'delete'),
  }),
  cr: group('Change requests: the only way onto the default branch', ['crs'], {
    ls: leaf(async () => (await import('../commands/cr/cr.ts')).ls, 'list'),
    show: leaf(async () => (await import('../commands/cr/cr.ts')).show, 'info', 'view'),
    diff: leaf(async () => (await import('../commands/cr/review/diff.ts')).diff),
    origin: leaf(async () => (await import('../commands/cr/review/origin.ts')).origin),
    open: leaf(async () => (await import('../commands/cr/open.ts')).open, 'new', 'create'),
    edit: leaf(async () => (await import('../commands/cr/cr.ts')).edit),
    ready: leaf(async () => (await import('../commands/cr/cr.ts')).ready),
    comment: leaf(async () => (await import('../commands/cr/review/review.ts')).comment),
    review: leaf(async () => (await import('../commands/cr/review/review.ts')).review),
    reviews: leaf(async () => (await import('../commands/cr/review/answer.ts')).reviews),
    answer: leaf(async () => (await import('../commands/cr/review/answer.ts')).answer),
    apply: leaf(async () => (await import('../commands/cr/review/apply.ts')).apply),
    checkout: leaf(async () => (await import('../commands/cr/checkout.ts')).checkout),
    checks: leaf(async () => (await import('../commands/cr/review/checks.ts')).checks),
    merge: leaf(async () => (await import('../commands/cr/merge.ts')).merge),
    'pull-request': leaf(async () => (await import('../commands/cr/cr.ts')).pullRequest),
    verify: leaf(async () => (await import('../commands/cr/review/verify.ts')).verify),
    close: leaf(async () => (await import('../commands/cr/cr.ts')).close),
    reopen: leaf(async () => (await import('../commands/cr/cr.ts')).reopen),
  }),
  branches: group('Branches of the repository', ['branch'], {
    ls: leaf(async () => (await import('../commands/branches/ls.ts')).ls, 'list'),
  }),
  compare: leaf(async () => (await import('../commands/compare.ts')).compare),
  file: group('Files of the repository on any branch', ['files'], {
    show: leaf(async () => (await import('../commands/file.ts')).show, 'cat'),
    ls: leaf(async () => (await import('../commands/file.ts')).ls, 'list'),
  }),
  triggers: group('Triggers: sessions started on a schedule or by a webhook, from svc.toml', ['trigger'], {
    ls: leaf(async () => (await import('../commands/triggers/triggers.ts')).ls, 'list'),
    info: leaf(async () => (await import('../commands/triggers/triggers.ts')).info, 'show'),
    fire: leaf(async () => (await import('../commands/triggers/triggers.ts')).fire),
    enable: leaf(async () => (await import('../commands/triggers/triggers.ts')).enable),
    disable: leaf(async () => (await import('../commands/triggers/triggers.ts')).disable),
  }),
  channels: group('Channels: chat channels with sessions as threads and change requests as cards', ['channel'], {
    ls: leaf(async () => (await import('../commands/channels/channels.ts')).ls, 'list'),
    connect: leaf(async () => (await import('../commands/channels/channels.ts')).connect, 'add'),
    show: leaf(async () => (await import('../commands/channels/channels.ts')).show, 'info'),
    test: leaf(async () => (await import('../commands/channels/channels.ts')).test),
    disconnect: leaf(async () => (await import('../commands/channels/channels.ts')).disconnect, 'rm'),
    link: leaf(async () => (await import('../commands/channels/channels.ts')).link),
    unlink: leaf(async () => (await import('../commands/channels/channels.ts')).unlink),
  }),
  apps: group('Apps: programs and pages of the default branch, each at its own URL', ['app'], {
    ls: leaf(async () => (await import('../commands/apps/apps.ts')).ls, 'list'),
    show: leaf(async () => (await import('../commands/apps/apps.ts')).show, 'info'),
    deploy: leaf(async () => (await import('../commands/apps/deploy.ts')).deploy, 'start'),
    stop: leaf(async () => (await import('../commands/apps/apps.ts')).stop),
    rollback: leaf(async () => (await import('../commands/apps/deploy.ts')).rollback),
    logs: leaf(async () => (await import('../commands/apps/logs.ts')).logs, 'log'),
    open: leaf(async () => (await import('../commands/apps/apps.ts')).open),
  }),
  connectors: group('Connectors: external tools for agents, from svc.toml', ['connector'], {
    ls: leaf(async () => (await import('../commands/connectors/connectors.ts')).ls, 'list'),
    show: leaf(async () => (await import('../commands/connectors/connectors.ts')).show, 'info'),
    check: leaf(async () => (await import('../commands/connectors/connectors.ts')).check),
    policy: leaf(async () => (await import('../commands/connectors/connectors.ts')).policy),
    approvals: leaf(async () => (await import('../commands/connectors/connectors.ts')).approvals),
    approve: leaf(async () => (await import('../commands/connectors/connectors.ts')).approve),
    deny: leaf(async () => (await import('../commands/connectors/connectors.ts')).deny),
  }),
  events: leaf(async () => (await import('../commands/events/events.ts')).events),
  webhooks: group('Webhooks: signed events of the project, sent to a URL', ['webhook'], {
    ls: leaf(async () => (await import('../commands/webhooks/webhooks.ts')).ls, 'list'),
    add: leaf(async () => (await import('../commands/webhooks/webhooks.ts')).add, 'create'),
    show: leaf(async () => (await import('../commands/webhooks/webhooks.ts')).show, 'info'),
    edit: leaf(async () => (await import('../commands/webhooks/webhooks.ts')).edit),
    rm: leaf(async () => (await import('../commands/webhooks/webhooks.ts')).rm, 'delete'),
    ping: leaf(async () => (await import('../commands/webhooks/webhooks.ts')).ping, 'test'),
    deliveries: leaf(async () => (await import('../commands/webhooks/webhooks.ts')).deliveries),
    redeliver: leaf(async () => (await import('../commands/webhooks/webhooks.ts')).redeliver),
  }),
  manifest: group('The manifest svc.toml', [], {
    validate: leaf(async () => (await import('../commands/manifest/validate.ts')).validate, 'check'),
  }),
  secrets: group('Secrets: environment variables of every sandbox of a project', ['secret'], {
    ls: leaf(async () => (await import('../commands/secrets/secrets.ts')).ls, 'list'),
    set: leaf(async () => (await import('../commands/secrets/secrets.ts')).set),
    unset: leaf(async () => (await import('../commands/secrets/secrets.ts')).unset, 'rm'),
  }),
  env: group('Exchange names and values between a .env file and the secrets of a project', [], {
    pull: leaf(async () => (await import('../commands/env/env.ts')).pull),
    push: leaf(async () => (await import('../commands/env/env.ts')).push),
  }),
  settings: group('Settings of a project', ['setting'], {
    ls: leaf(async () => (await import('../commands/settings/settings.ts')).ls, 'list'),
    set: leaf(async () => (await import('../commands/settings/settings.ts')).set),
  }),
  accounts: group('Accounts: each has projects, members and a session limit', ['account'], {
    ls: leaf(async () => (await import('../commands/accounts/accounts.ts')).ls, 'list'),
    use: leaf(async () => (await import('../commands/accounts/accounts.ts')).use),
    create: leaf(async () => (await import('../commands/accounts/accounts.ts')).create, 'new'),
    edit: leaf(async () => (await import('../commands/accounts/accounts.ts')).edit),
  }),
  members: group('Members: the users of an account and their roles', ['member'], {
    ls: leaf(async () => (await import('../commands/members/members.ts')).ls, 'list'),
    add: leaf(async () => (await import('../commands/members/members.ts')).add, 'invite'),
    role: leaf(async () => (await import('../commands/members/members.ts')).role),
    rm: leaf(async () => (await import('../commands/members/members.ts')).rm, 'remove'),
  }),
  tokens: group('Tokens: your own and those of a project', ['token'], {
    ls: leaf(async () => (await import('../commands/tokens/tokens.ts')).ls, 'list'),
    create: leaf(async () => (await import('../commands/tokens/tokens.ts')).create, 'new'),
    revoke: leaf(async () => (await import('../commands/tokens/tokens.ts')).revoke, 'rm'),
  }),
  password: leaf(async () => (await import('../commands/sign-in/signed-in.ts')).password),
  browsers: group('Browser sessions: browsers signed in to the dashboard', ['browser', 'browser-sessions'], {
    ls: leaf(async () => (await import('../commands/browsers.ts')).ls, 'list'),
    revoke: leaf(async () => (await import('../commands/browsers.ts')).revoke, 'rm'),
  }),
  audit: leaf(async () => (await import('../commands/audit.ts')).audit),
  models: group('Models: the models agents can use, and their server', ['model'], {
    ls: leaf(async () => (await import('../commands/models.ts')).ls, 'list'),
    set: leaf(async () => (await import('../commands/models.ts')).set),
    rm: leaf(async () => (await import('../commands/models.ts')).rm, 'clear'),
  }),
  usage: leaf(async () => (await import('../commands/usage.ts')).usage),
  hosts: group('Hosts: the servers this client knows', ['host'], {
    ls: leaf(async () => (await import('../commands/hosts/hosts.ts')).ls, 'list'),
    use: leaf(async () => (await import('../commands/hosts/hosts.ts')).use),
    add: leaf(async () => (await import('../commands/hosts/hosts.ts')).add),
    rm: leaf(async () => (await import('../commands/hosts/hosts.ts')).rm, 'remove'),
    info: leaf(async () => (await import('../commands/hosts/hosts.ts')).info),
    current: leaf(async () => (await import('../commands/hosts/hosts.ts')).current),
  }),
  'self-host': group('Your own server', [], {
    start: leaf(async () => (await import('../commands/self-host/start.ts')).start),
    configure: leaf(async () => (await import('../commands/self-host/self-host.ts')).configure),
    env: leaf(async () => (await import('../commands/self-host/env.ts')).env),
    logs: leaf(async () => (await import('../commands/self-host/logs.ts')).logs),
    status: leaf(async () => (await import('../commands/self-host/self-host.ts')).status),
    stop: leaf(async () => (await import('../commands/self-host/stop.ts')).stop),
    upgrade: leaf(async () => (await import('../commands/self-host/upgrade.ts')).upgrade),
    unit: leaf(async () => (await import('../commands/self-host/unit.ts')).unit),
    servers: leaf(async () => (await import('../commands/self-host/servers.ts')).servers),
    move: leaf(async () => (await import('../commands/self-host/servers.ts')).move),
    drain: leaf(async () => (await import('../commands/self-host/servers.ts')).drain),
    doctor: leaf(async () => (await import('../commands/self-host/self-host.ts')).doctor),
    'owner-link': leaf(async () => (await import('../commands/self-host/self-host.ts')).ownerLink),
    'take-over': leaf(async () => (await import('../commands/self-host/copies.ts')).takeOver),
    copies: leaf(async () => (await import('../commands/self-host/copies.ts')).copies),
    storage: leaf(async () => (await import('../commands/self-host/storage.ts')).storage),
    image: leaf(async () => (await import('../commands/self-host/image.ts')).image),
    backup: leaf(async () => (await import('../commands/self-host/backup.ts')).backup),
    backups: leaf(async () => (await import('../commands/self-host/backup.ts')).backups),
    restore: leaf(async () => (await import('../commands/self-host/backup.ts')).restore),
    resume: leaf(async () => (await import('../commands/self-host/backup.ts')).resume),
    check: leaf(async () => (await import('../commands/self-host/backup.ts')).check),
    'move-database': leaf(async () => (await import('../commands/self-host/move-database.ts')).moveDatabase),
    'rotate-key': leaf(async () => (await import('../commands/self-host/self-host.ts')).rotateKey),
  }),
  api: leaf(async () => (await import('../commands/api.ts')).api),
  alias: group('Aliases: your own names for commands', [], {
    set: leaf(async () => (await import('../commands/alias.ts')).set),
    ls: leaf(async () => (await import('../commands/alias.ts')).ls, 'list'),
    rm: leaf(async () => (await import('../commands/alias.ts')).rm, 'delete'),
  }),
  completion: leaf(async () => (await import('../commands/client/client.ts')).completion),
  man: leaf(async () => (await import('../commands/client/client.ts')).man),
  update: leaf(async () => (await import('../commands/client/update.ts')).update),
  uninstall: leaf(async () => (await import('../commands/client/uninstall.ts')).uninstall),
  version: leaf(async () => (await import('../commands/client/client.ts')).version),
  help: leaf(async () => (await import('../commands/client/client.ts')).help),
}

export function isGroup(entry: Entry): entry is Group {
  return 'commands' in entry
}

export function lookUp<E extends Entry>(entries: Readonly<Record<string, E>>, word: string): [string, E] | null {
  for (const [name, entry] of Object.entries(entries)) {
    if (name === word || entry.aliases.includes(word)) return [name, entry]
  }
  return null
}

/** `words` must name a command or a group. */
export function entryOf(words: readonly string[]): Entry {
  const first = lookUp(catalogue, words[0]!)![1]
  return words.length > 1 && isGroup(first) ? lookUp(first.commands, words[1]!)![1] : first
}
