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
  logout: leaf(async () => (await import('../commands/sign-in/logout.ts')).logout),
  whoami: leaf(async () => (await import('../commands/sign-in/whoami.ts')).whoami),
  status: leaf(async () => (await import('../commands/status.ts')).status),
  init: leaf(async () => (await import('../commands/init.ts')).init),
  ship: leaf(async () => (await import('../commands/ship.ts')).ship, 'deploy'),
  tour: leaf(async () => (await import('../commands/tour.ts')).tour),
  projects: group('Projects: each is one git repository', ['project'], {
    create: leaf(async () => (await import('../commands/projects/create.ts')).create, 'new'),
    ls: leaf(async () => (await import('../commands/projects/ls.ts')).ls, 'list'),
    info: leaf(async () => (await import('../commands/projects/info.ts')).info, 'show'),
    link: leaf(async () => (await import('../commands/projects/link.ts')).link),
    open: leaf(async () => (await import('../commands/projects/open.ts')).open),
    unlink: leaf(async () => (await import('../commands/projects/unlink.ts')).unlink),
    webhook: leaf(async () => (await import('../commands/projects/webhook.ts')).webhook),
    rm: leaf(async () => (await import('../commands/projects/rm.ts')).rm, 'delete'),
    restore: leaf(async () => (await import('../commands/projects/restore.ts')).restore),
  }),
  sessions: group('Sessions: conversations with an agent, each on its own branch', ['session'], {
    new: leaf(async () => (await import('../commands/sessions/lifecycle/new.ts')).newSession, 'create'),
    ls: leaf(async () => (await import('../commands/sessions/ls.ts')).ls, 'list'),
    info: leaf(async () => (await import('../commands/sessions/info.ts')).info, 'show'),
    chat: leaf(async () => (await import('../commands/sessions/conversation/chat.ts')).chat, 'talk'),
    watch: leaf(async () => (await import('../commands/sessions/conversation/watch.ts')).watch),
    log: leaf(async () => (await import('../commands/sessions/conversation/log.ts')).log, 'transcript'),
    questions: leaf(async () => (await import('../commands/sessions/conversation/questions.ts')).questions),
    answer: leaf(async () => (await import('../commands/sessions/conversation/answer.ts')).answer),
    open: leaf(async () => (await import('../commands/sessions/open.ts')).open),
    recover: leaf(async () => (await import('../commands/sessions/recover.ts')).recover),
    preview: leaf(async () => (await import('../commands/sessions/preview.ts')).preview),
    shell: leaf(async () => (await import('../commands/sessions/shell.ts')).shell),
    rename: leaf(async () => (await import('../commands/sessions/rename.ts')).rename),
    abort: leaf(async () => (await import('../commands/sessions/conversation/abort.ts')).abort),
    stop: leaf(async () => (await import('../commands/sessions/lifecycle/stop.ts')).stop),
    restart: leaf(async () => (await import('../commands/sessions/lifecycle/restart.ts')).restart),
    refresh: leaf(async () => (await import('../commands/sessions/lifecycle/refresh.ts')).refresh),
    rm: leaf(async () => (await import('../commands/sessions/lifecycle/rm.ts')).rm, 'delete'),
  }),
  cr: group('Change requests: the only way onto the default branch', ['crs'], {
    ls: leaf(async () => (await import('../commands/cr/ls.ts')).ls, 'list'),
    show: leaf(async () => (await import('../commands/cr/show.ts')).show, 'info', 'view'),
    diff: leaf(async () => (await import('../commands/cr/review/diff.ts')).diff),
    open: leaf(async () => (await import('../commands/cr/open.ts')).open, 'new', 'create'),
    edit: leaf(async () => (await import('../commands/cr/edit.ts')).edit),
    ready: leaf(async () => (await import('../commands/cr/ready.ts')).ready),
    comment: leaf(async () => (await import('../commands/cr/review/review.ts')).comment),
    review: leaf(async () => (await import('../commands/cr/review/review.ts')).review),
    checkout: leaf(async () => (await import('../commands/cr/checkout.ts')).checkout),
    checks: leaf(async () => (await import('../commands/cr/review/checks.ts')).checks),
    merge: leaf(async () => (await import('../commands/cr/merge.ts')).merge),
    'pull-request': leaf(async () => (await import('../commands/cr/pull-request.ts')).pullRequest),
    verify: leaf(async () => (await import('../commands/cr/review/verify.ts')).verify),
    close: leaf(async () => (await import('../commands/cr/close.ts')).close),
    reopen: leaf(async () => (await import('../commands/cr/close.ts')).reopen),
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
    ls: leaf(async () => (await import('../commands/triggers/ls.ts')).ls, 'list'),
    info: leaf(async () => (await import('../commands/triggers/info.ts')).info, 'show'),
    fire: leaf(async () => (await import('../commands/triggers/fire.ts')).fire),
    enable: leaf(async () => (await import('../commands/triggers/switch.ts')).enable),
    disable: leaf(async () => (await import('../commands/triggers/switch.ts')).disable),
  }),
  channels: group('Channels: chat channels with sessions as threads and change requests as cards', ['channel'], {
    ls: leaf(async () => (await import('../commands/channels/ls.ts')).ls, 'list'),
    connect: leaf(async () => (await import('../commands/channels/connect.ts')).connect, 'add'),
    show: leaf(async () => (await import('../commands/channels/show.ts')).show, 'info'),
    test: leaf(async () => (await import('../commands/channels/test-message.ts')).test),
    disconnect: leaf(async () => (await import('../commands/channels/disconnect.ts')).disconnect, 'rm'),
    link: leaf(async () => (await import('../commands/channels/link.ts')).link),
    unlink: leaf(async () => (await import('../commands/channels/unlink.ts')).unlink),
  }),
  apps: group('Apps: programs and pages of the default branch, each at its own URL', ['app'], {
    ls: leaf(async () => (await import('../commands/apps/ls.ts')).ls, 'list'),
    show: leaf(async () => (await import('../commands/apps/show.ts')).show, 'info'),
    deploy: leaf(async () => (await import('../commands/apps/deploy.ts')).deploy, 'start'),
    stop: leaf(async () => (await import('../commands/apps/stop.ts')).stop),
    rollback: leaf(async () => (await import('../commands/apps/deploy.ts')).rollback),
    logs: leaf(async () => (await import('../commands/apps/logs.ts')).logs, 'log'),
    open: leaf(async () => (await import('../commands/apps/open.ts')).open),
  }),
  connectors: group('Connectors: external tools for agents, from svc.toml', ['connector'], {
    ls: leaf(async () => (await import('../commands/connectors/ls.ts')).ls, 'list'),
    show: leaf(async () => (await import('../commands/connectors/show.ts')).show, 'info'),
    check: leaf(async () => (await import('../commands/connectors/check.ts')).check),
    policy: leaf(async () => (await import('../commands/connectors/policy.ts')).policy),
    approvals: leaf(async () => (await import('../commands/connectors/approvals.ts')).approvals),
    approve: leaf(async () => (await import('../commands/connectors/decide.ts')).approve),
    deny: leaf(async () => (await import('../commands/connectors/decide.ts')).deny),
  }),
  events: leaf(async () => (await import('../commands/events/events.ts')).events),
  webhooks: group('Webhooks: signed events of the project, sent to a URL', ['webhook'], {
    ls: leaf(async () => (await import('../commands/webhooks/ls.ts')).ls, 'list'),
    add: leaf(async () => (await import('../commands/webhooks/add.ts')).add, 'create'),
    show: leaf(async () => (await import('../commands/webhooks/show.ts')).show, 'info'),
    edit: leaf(async () => (await import('../commands/webhooks/edit.ts')).edit),
    rm: leaf(async () => (await import('../commands/webhooks/rm.ts')).rm, 'delete'),
    ping: leaf(async () => (await import('../commands/webhooks/send.ts')).ping, 'test'),
    deliveries: leaf(async () => (await import('../commands/webhooks/deliveries.ts')).deliveries),
    redeliver: leaf(async () => (await import('../commands/webhooks/send.ts')).redeliver),
  }),
  manifest: group('The manifest svc.toml', [], {
    validate: leaf(async () => (await import('../commands/manifest/validate.ts')).validate, 'check'),
  }),
  secrets: group('Secrets: environment variables of every sandbox of a project', ['secret'], {
    ls: leaf(async () => (await import('../commands/secrets/ls.ts')).ls, 'list'),
    set: leaf(async () => (await import('../commands/secrets/set.ts')).set),
    unset: leaf(async () => (await import('../commands/secrets/set.ts')).unset, 'rm'),
  }),
  env: group('Exchange names and values between a .env file and the secrets of a project', [], {
    pull: leaf(async () => (await import('../commands/env/pull.ts')).pull),
    push: leaf(async () => (await import('../commands/env/push.ts')).push),
  }),
  settings: group('Settings of a project', ['setting'], {
    ls: leaf(async () => (await import('../commands/settings/ls.ts')).ls, 'list'),
    set: leaf(async () => (await import('../commands/settings/set.ts')).set),
  }),
  accounts: group('Accounts: each has projects, members and a session limit', ['account'], {
    ls: leaf(async () => (await import('../commands/accounts/ls.ts')).ls, 'list'),
    use: leaf(async () => (await import('../commands/accounts/use.ts')).use),
    create: leaf(async () => (await import('../commands/accounts/edit.ts')).create, 'new'),
    edit: leaf(async () => (await import('../commands/accounts/edit.ts')).edit),
  }),
  members: group('Members: the users of an account and their roles', ['member'], {
    ls: leaf(async () => (await import('../commands/members/ls.ts')).ls, 'list'),
    add: leaf(async () => (await import('../commands/members/add.ts')).add, 'invite'),
    role: leaf(async () => (await import('../commands/members/role.ts')).role),
    rm: leaf(async () => (await import('../commands/members/rm.ts')).rm, 'remove'),
  }),
  tokens: group('Tokens: your own and those of a project', ['token'], {
    ls: leaf(async () => (await import('../commands/tokens/ls.ts')).ls, 'list'),
    create: leaf(async () => (await import('../commands/tokens/create.ts')).create, 'new'),
    revoke: leaf(async () => (await import('../commands/tokens/revoke.ts')).revoke, 'rm'),
  }),
  password: leaf(async () => (await import('../commands/sign-in/password.ts')).password),
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
    ls: leaf(async () => (await import('../commands/hosts/ls.ts')).ls, 'list'),
    use: leaf(async () => (await import('../commands/hosts/use.ts')).use),
    add: leaf(async () => (await import('../commands/hosts/add.ts')).add),
    rm: leaf(async () => (await import('../commands/hosts/rm.ts')).rm, 'remove'),
    info: leaf(async () => (await import('../commands/hosts/info.ts')).info),
    current: leaf(async () => (await import('../commands/hosts/current.ts')).current),
  }),
  'self-host': group('Your own server', [], {
    start: leaf(async () => (await import('../commands/self-host/start.ts')).start),
    configure: leaf(async () => (await import('../commands/self-host/configure.ts')).configure),
    env: leaf(async () => (await import('../commands/self-host/env.ts')).env),
    logs: leaf(async () => (await import('../commands/self-host/logs.ts')).logs),
    status: leaf(async () => (await import('../commands/self-host/status.ts')).status),
    stop: leaf(async () => (await import('../commands/self-host/stop.ts')).stop),
    unit: leaf(async () => (await import('../commands/self-host/unit.ts')).unit),
    doctor: leaf(async () => (await import('../commands/self-host/doctor.ts')).doctor),
    'owner-link': leaf(async () => (await import('../commands/self-host/owner-link.ts')).ownerLink),
    'rotate-key': leaf(async () => (await import('../commands/self-host/rotate-key.ts')).rotateKey),
  }),
  api: leaf(async () => (await import('../commands/api.ts')).api),
  alias: group('Aliases: your own names for commands', [], {
    set: leaf(async () => (await import('../commands/alias.ts')).set),
    ls: leaf(async () => (await import('../commands/alias.ts')).ls, 'list'),
    rm: leaf(async () => (await import('../commands/alias.ts')).rm, 'delete'),
  }),
  completion: leaf(async () => (await import('../commands/client/completion.ts')).completion),
  man: leaf(async () => (await import('../commands/client/man.ts')).man),
  update: leaf(async () => (await import('../commands/client/update.ts')).update),
  uninstall: leaf(async () => (await import('../commands/client/uninstall.ts')).uninstall),
  version: leaf(async () => (await import('../commands/client/version.ts')).version),
  help: leaf(async () => (await import('../commands/client/help.ts')).help),
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
