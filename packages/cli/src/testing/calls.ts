/** A valid call of every command, for tests that cover all of them. */
import { catalogue, isGroup, type Leaf } from '../arguments/catalogue.ts'
import { ids, token } from '../testing.ts'

interface Call {
  args: string[]
  stdin?: string
}

/** The commands with arguments; all others are complete by their name. */
export const given: Record<string, Call> = {
  login: { args: ['--token', token] },
  'projects open': { args: ['app'] },
  'sessions open': { args: [ids.session] },
  'env pull': { args: ['--out', '-'] },
  'env push': { args: ['--from', '-'], stdin: 'export A="a b" # c\nB=\n' },
  'settings set': { args: ['manifest_gate=on'] },
  'models set': { args: ['https://models.example/v1', '--model', 'large,small'] },
  'models rm': { args: ['--yes'] },
  'accounts use': { args: ['Research'] },
  'accounts create': { args: ['Research', '--plan', 'team'] },
  'accounts edit': { args: [ids.account, '--plan', 'pro'] },
  'members add': { args: ['cy@example.com'] },
  'members role': { args: ['bo@example.com', 'admin'] },
  'members rm': { args: ['Bo', '--yes'] },
  'tokens create': { args: ['--name', 'ci', '--expires', '30d'] },
  'tokens revoke': { args: ['laptop'] },
  usage: { args: ['--days', '7'] },
  completion: { args: ['bash'] },
  'projects create': { args: ['--name', 'app'] },
  'projects info': { args: ['app'] },
  'projects link': { args: ['app'] },
  'projects rm': { args: ['app', '--yes'] },
  'projects restore': { args: ['app'] },
  'sessions new': { args: ['--prompt', 'Fix it'] },
  'sessions info': { args: [ids.session] },
  'sessions chat': { args: [ids.session, '--prompt', 'Hello'] },
  'sessions watch': { args: [ids.session, '--once'] },
  'sessions log': { args: [ids.session] },
  'sessions shell': { args: [ids.session] },
  'sessions rename': { args: [ids.session, 'Parser tests'] },
  'sessions abort': { args: [ids.session] },
  'sessions answer': { args: [ids.session, 'once'] },
  'sessions recover': { args: [ids.session, '--into-sandbox'] },
  'sessions preview': { args: [ids.session, '5173'] },
  'self-host start': { args: ['--yes'] },
  'self-host env': { args: ['ls'] },
  uninstall: { args: ['--yes'] },
  'sessions stop': { args: [ids.session.slice(0, 4)] },
  'sessions restart': { args: [ids.session] },
  'sessions refresh': { args: [ids.session] },
  'sessions rm': { args: [ids.session, '--yes'] },
  'cr show': { args: ['3'] },
  'cr diff': { args: ['#3'] },
  'cr open': { args: ['--title', 'Add a greeting', '--head', 'greeting'] },
  api: { args: ['/v1/projects'] },
  'alias set': { args: ['co', 'cr checkout'] },
  'alias rm': { args: ['co'] },
  compare: { args: ['main..greeting'] },
  'file show': { args: ['main:a.txt'] },
  'file ls': { args: ['main:src'] },
  'browsers revoke': { args: ['5555'] },
  man: { args: ['cr', 'merge'] },
  'cr edit': { args: ['3', '--title', 'Greet'] },
  'cr ready': { args: ['3'] },
  'cr comment': { args: ['3', '--body', 'Fine'] },
  'cr review': { args: ['3', '--body', 'Why?', '--at', 'a.ts:3'] },
  'cr checks': { args: ['3', '--log'] },
  'cr merge': { args: [ids.cr] },
  'cr checkout': { args: ['3'] },
  'cr pull-request': { args: ['3'] },
  'cr verify': { args: ['3'] },
  'cr close': { args: ['3'] },
  'cr reopen': { args: ['3'] },
  'apps show': { args: ['site'] },
  'apps deploy': { args: ['site'] },
  'apps stop': { args: ['site'] },
  'apps rollback': { args: ['site', '--to', '1'] },
  'apps logs': { args: ['site', '--lines', '20'] },
  'apps open': { args: ['site'] },
  'triggers info': { args: ['nightly'] },
  'triggers fire': { args: ['nightly', '--message', 'Now'] },
  'triggers enable': { args: ['nightly'] },
  'triggers disable': { args: ['nightly'] },
  'channels connect': { args: ['--channel', 'C0DEVTEAM', '--credentials', '-'], stdin: 'xoxb-token\nsecret-of-it\n' },
  'channels show': { args: ['dev'] },
  'channels disconnect': { args: ['C0DEVTEAM', '--yes'] },
  'channels link': { args: ['a-code-of-the-chat', '--yes'] },
  'channels unlink': { args: ['Ada'] },
  'connectors show': { args: ['tracker'] },
  'connectors check': { args: ['tracker'] },
  'connectors policy': { args: ['tracker', 'allow', '--tool', 'search'] },
  'connectors approve': { args: ['88888888'] },
  'connectors deny': { args: ['88888888'] },
  events: { args: ['--after', '0', '--limit', '20'] },
  'webhooks add': { args: ['https://ci.example.com/svc', '--events', 'session.*,deploy.live'] },
  'webhooks show': { args: ['aaaa'] },
  'webhooks edit': { args: ['aaaa', '--secret', '-', '--resume'], stdin: 'a-secret-of-my-own\n' },
  'webhooks rm': { args: ['aaaa', '--yes'] },
  'webhooks redeliver': { args: ['bbbb'] },
  'projects webhook': { args: ['--rotate'] },
  'manifest validate': { args: ['-'], stdin: 'svc_version = 1\n' },
  'secrets set': { args: ['NAME=-'], stdin: 'value\n' },
  'secrets unset': { args: ['NAME'] },
  'hosts use': { args: ['local-dev'] },
  'hosts add': { args: ['work', '--url', 'https://svc.example.com/v1'] },
  'hosts rm': { args: ['work', '--yes'] },
}

/** Commands that send no request. */
const silent =
  /^(logout|init|completion|man|update|uninstall|version|help|manifest validate|projects unlink|(self-host|alias|hosts) \S+)$/

/** Commands that need special responses or a repository; their own tests cover them. */
export const elsewhere = new Set([
  ...[
    'tour',
    'ship',
    'cr checkout',
    'sessions chat',
    'sessions watch',
    'sessions shell',
    'hosts rm',
    'update',
    'alias rm',
  ],
  ...[
    'self-host start',
    'self-host configure',
    'self-host logs',
    'self-host doctor',
    'self-host rotate-key',
    'self-host image',
    'self-host owner-link',
  ],
])

export const all: [string, Leaf][] = Object.entries(catalogue).flatMap(([name, entry]): [string, Leaf][] =>
  isGroup(entry) ? Object.entries(entry.commands).map(([verb, leaf]) => [`${name} ${verb}`, leaf]) : [[name, entry]],
)

export const good: Record<string, Call & { speaks: boolean }> = Object.fromEntries(
  all.map(([name]) => [name, { args: [], speaks: !silent.test(name), ...given[name] }]),
)
