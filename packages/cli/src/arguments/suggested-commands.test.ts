/** Every command that an output, an error, a hint or a page of the docs suggests: each parses, and the complete ones succeed. */
import { describe, expect, test } from 'bun:test'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseCommandLine } from './parse-command-line.ts'
import { findCommand } from '../run.ts'
import { elsewhere } from '../testing/calls.ts'
import { aChangeRequest, aProject, ids, sha, startService, svc, temporaryFolder } from '../testing.ts'
import { aReview, aSuggestion } from '../testing/browse.ts'
import { aUsage } from '../testing/usage.ts'

const root = join(import.meta.dir, '../../../..')
const sources = await filesOf(
  ['packages/cli/src', 'packages/server/src', 'packages/contract/src', 'packages/dashboard/src'],
  /\.tsx?$/,
)
const pages = [...(await filesOf(['docs/guide', 'docs/operate'], /\.md$/)), 'README.md']

async function filesOf(folders: readonly string[], name: RegExp): Promise<string[]> {
  const found = await Promise.all(
    folders.map(async (folder) =>
      (await readdir(join(root, folder), { recursive: true })).map((path) => `${folder}/${path}`),
    ),
  )
  const isText = (path: string) => name.test(path) && !/\.test\.|testing|\.gen\.|install\//.test(path)
  return found.flat().filter(isText).toSorted()
}

interface Suggested {
  where: string
  line: string
}

/** String literals in a source that are whole commands; placeholders become `<_>`. */
function wholeCommands(where: string, text: string): Suggested[] {
  const literals = /'(svc (?:[^'\\\n]|\\.)*)'|"(svc (?:[^"\\\n]|\\.)*)"|`(svc (?:[^`\\]|\\.)*)`/g
  return [...withoutComments(text).matchAll(literals)]
    .map((found) => (found[1] ?? found[2] ?? found[3])!.replace(/\\?\$\{(?:[^{}]|\{[^{}]*\})*\}/g, '<_>'))
    .map((line) => ({ where, line: line.replaceAll("\\'", "'").split(/\\?`|\n|\\n/)[0]! }))
    .filter(({ line }) => !isProse.test(line))
}

/** Literals that begin with `svc` but are not commands. */
const isProse =
  /\.$|[;,] (svc|or) |: |^svc (<command>|cr ls failed|user context|signs in|instance|derive|wrap|master key|self-host started)/

/** Lines of a page's code blocks; two spaces start an explanation. */
function linesOfPage(where: string, text: string): Suggested[] {
  return [...text.matchAll(/^```\w*\n([\s\S]*?)^```/gm)].flatMap(([, block]) =>
    [...block!.matchAll(/^\s*(?:\$ )?(svc .*)$/gm)].map(([, line]) => ({ where, line: line!.split(/ {2,}/)[0]! })),
  )
}

/** Commands within a sentence, where only the words of the command are certain. */
function mentioned(where: string, text: string): Suggested[] {
  const mentions = /\bsvc ((?:[a-z][a-z-]*)(?: [a-z][a-z-]*)?)/g
  const strings = /'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`/g
  return [...withoutComments(text).matchAll(strings)].flatMap(([literal]) =>
    [...literal.matchAll(mentions)].map(([, words]) => ({ where, line: `svc ${words}` })),
  )
}

const withoutComments = (text: string) => text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/^\s*\/\/.*$/gm, '')

/** Splits a line as a shell does, up to a pipe, a redirection or the next command. */
function words(line: string): string[] {
  const [command] = line.replace(/\[(--[^\]]*)\]/g, '$1').split(/ (?:&&|\|\||\||>|<|#)(?= )|;(?= )| · /)
  return [...command!.matchAll(/(?:[^\s'"]|'[^']*'|"[^"]*")+/g)]
    .map(([word]) => word.replace(/'([^']*)'|"([^"]*)"/g, '$1$2'))
    .slice(1)
}

async function accepted(argv: readonly string[]): Promise<string> {
  const found = findCommand(argv[0] === '--version' ? ['version'] : argv)
  // A placeholder for a verb (`svc cr ${verb} 3`) stands for one of the group's commands.
  if (found.kind === 'unknown')
    return found.word === '<_>' && found.words.length > 0 ? 'accepted' : `${found.word} is no command`
  const command = found.kind === 'command' ? await found.load() : { scope: 'project' as const, args: {}, flags: {} }
  try {
    parseCommandLine(found.words, found.rest, command)
    return 'accepted'
  } catch (error) {
    // The name of a group without a verb.
    return found.rest.length === 0 ? 'accepted' : (error as Error).message
  }
}

const suggested: Suggested[] = []
const mentions: Suggested[] = []
for (const path of sources) {
  const text = await readFile(join(root, path), 'utf8')
  suggested.push(...wholeCommands(path, text))
  mentions.push(...mentioned(path, text))
}
for (const path of pages) suggested.push(...linesOfPage(path, await readFile(join(root, path), 'utf8')))

/** `svc server` is the server; `svc my-app` is the name of a project. */
const notOfTheClient = /^svc (server|my-app)\b/

describe('suggested commands', () => {
  test('finds more than 250 suggested commands in the sources', () => {
    expect(suggested.length).toBeGreaterThan(250)
  })

  test("the client's parser accepts every suggested command", async () => {
    const refused: string[] = []
    for (const { where, line } of suggested) {
      // Skip templates that begin with a placeholder for the command (`svc ${words}`); their values are checked where they are written.
      if (notOfTheClient.test(line) || /^svc (<_>|$)/.test(line)) continue
      const answer = await accepted(words(line))
      if (answer !== 'accepted') refused.push(`${where}: ${line}: ${answer}`)
    }
    expect(refused).toEqual([])
  })

  test('every command that a sentence mentions exists', async () => {
    const { catalogue, isGroup, lookUp } = await import('./catalogue.ts')
    const unknown = mentions.filter(({ line }) => {
      const [, first, verb] = line.split(' ')
      const entry = lookUp(catalogue, first!)?.[1]
      return (
        entry !== undefined &&
        isGroup(entry) &&
        verb !== undefined &&
        verb !== 'started' &&
        !lookUp(entry.commands, verb)
      )
    })
    expect(unknown).toEqual([])
  })
})

/** Commands that prompt, wait for input, or need a repository or a server of their own; other tests run them. */
const asks = [
  ...[...elsewhere].map((name) => `svc ${name}`),
  ...[
    'svc channels connect',
    'svc channels disconnect',
    'svc projects link',
    'svc cr edit 3',
    'svc hosts use',
    'svc login',
    'svc sessions recover',
    'svc projects webhook',
  ],
]
const isComplete = (line: string) =>
  !notOfTheClient.test(line) &&
  !/[<>|&…]|\.\.\.| --(follow|wait|login|ssh-key)\b/.test(line) &&
  !asks.some((start) => line === start || (line.startsWith(`${start} `) && start !== 'svc projects link'))

/** Ids in examples, and their counterparts in the test service. */
const exampleId: Record<string, Record<string, string>> = {
  sessions: {
    '8f3a1c20': ids.session,
    '8f3a': ids.session,
    '3f2a': ids.session,
    '1c5f09aa': '99999999',
    '7d2e41b0': '77777777',
    '7d2e': '7777',
  },
  tokens: { '8f3a1c20': ids.cr },
  browsers: { '8f3a1c20': ids.cr },
  webhooks: { '0a1b2c3d': 'aaaa', '4e5f6a7b': 'bbbb' },
  connectors: { '1c5f09aa': '88888888' },
  cr: { '1f3a2b9c': ids.token, '9fceb02': sha('a') },
}

/** Adds the confirmation. */
async function answered(argv: readonly string[]): Promise<readonly string[]> {
  const found = findCommand(argv)
  const command = found.kind === 'command' ? await found.load() : null
  return command !== null && 'yes' in command.flags && !argv.includes('--yes') ? [...argv, '--yes'] : argv
}

/** Names of commands within a sentence that need an argument to run. */
const namesOnly = ['svc cr merge', 'svc cr open', 'svc self-host env set KEY=VALUE', 'svc self-host env unset KEY']
const complete = [...new Set(suggested.map(({ line }) => line))].filter(
  (line) => isComplete(line) && !namesOnly.includes(line),
)

test.each(complete)('the suggested command succeeds: %s', async (line) => {
  await using service = startService({
    listProjects: () => ['app', 'my-app', 'other'].map((slug) => aProject({ slug })),
    projectUsage: () => ({
      ...aUsage(),
      storage: {
        repository_bytes: 1,
        unfinished_work_bytes: 1,
        transcript_bytes: 1,
        check_log_bytes: 1,
        limit_bytes: 2,
        sessions_limit_bytes: 2,
      },
    }),
    listReviews: () => ({ reviews: [aReview({ thread: null, comments: [aSuggestion({ comment_id: ids.token })] })] }),
    capAccountUsage: () => ({ model_tokens_per_month: 20_000_000 }),
    listChangeRequests: () => ({ change_requests: [aChangeRequest({ head_ref: 'work' })] }),
  })
  await using folder = await temporaryFolder()
  Bun.spawnSync(['git', 'init', '--quiet', '--initial-branch=work', folder.path])
  await writeFile(join(folder.path, 'svc.toml'), 'svc_version = 1\n')
  if (line.includes('env push')) await writeFile(join(folder.path, '.env'), 'NAME=value\n')
  for (const [, name] of line.matchAll(/--attach (\S+)/g)) await writeFile(join(folder.path, name!), 'content\n')
  const config = join(folder.path, 'config.json')
  await writeFile(config, JSON.stringify({ hosts: { work: { url: service.url } } }), { mode: 0o600 })
  const env = { SVC_PROJECT_ID: ids.project, SVC_BRANCH_NAME: 'work', SVC_CONFIG_FILE: config, SVC_SESSION_ID: null }
  const argv = await answered(words(line).map((word) => exampleId[line.split(' ')[1]!]?.[word] ?? word))
  const typed = line.endsWith(' DATABASE_URL=-') ? 'postgresql://svc@db.example/svc' : 'a-value-of-sixteen-or-more'
  const { code, stderr } = await svc(argv, { service, env, cwd: folder.path, stdin: `${typed}\n` })
  expect({ code, stderr }).toMatchObject({ code: 0 })
})
