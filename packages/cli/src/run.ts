/** A command line becomes a command and an exit code. Nothing else in the client decides one. */
import { catalogue, type Entry, isGroup, lookUp } from './catalogue.ts'
import type { AnyCommand, Globals } from './command.ts'
import { createContext } from './context.ts'
import { UsageError } from './errors.ts'
import type { Io } from './io.ts'
import { createOutput } from './output.ts'
import { globalFlagsWithValue, parseCommandLine } from './parse-command-line.ts'
import { inProject, quote } from './shell.ts'
import { closest } from '@svc/contract/closest'

export type ExitCode = 0 | 1 | 2

export async function run(argv: readonly string[], io: Io): Promise<ExitCode> {
  let chosen: Globals | null = null
  try {
    if (argv[0] === '__complete') {
      const { complete } = await import('./complete.ts')
      await complete(io, argv.slice(argv[1] === '--' ? 2 : 1))
      return 0
    }
    const found = findCommand(asVersion(argv))
    const command = found.kind === 'command' ? await found.load() : null
    const { globals, args, flags } = parseCommandLine(found.words, found.rest, command ?? wordsOfGroup)
    chosen = globals
    if (globals.help || command === null) {
      const { showHelp } = await import('./help.ts')
      await showHelp(createOutput(io, { json: globals.json, noColor: globals['no-color'] }), found.words)
      return 0
    }
    const ctx = createContext(io, globals)
    const { watchForUpdate } = command.scope === 'nothing' ? noNotice : await import('./update-notice.ts')
    const sayUpdate = watchForUpdate(ctx)
    await command.run(ctx, { args: args as never, flags: flags as never })
    await sayUpdate()
    return 0
  } catch (error) {
    const { explain, report } = await import('./explain.ts')
    const words = beforeTerminator(argv)
    const out = createOutput(io, { json: words.includes('--json'), noColor: words.includes('--no-color') })
    const problem = explain(error, io)
    report(io, out, { ...problem, next: problem.next.map((line) => inProject(line, chosen?.project)) })
    return error instanceof UsageError ? 2 : 1
  }
}

/** What speaks to no server keeps to itself. */
const noNotice = { watchForUpdate: () => async () => {} }

/** The words of a group alone take what every command takes. */
const wordsOfGroup: Pick<AnyCommand, 'scope' | 'args' | 'flags'> = { scope: 'project', args: {}, flags: {} }

/** `svc --version` is what every program answers. */
function asVersion(argv: readonly string[]): readonly string[] {
  return argv[0] === '--version' || argv[0] === '-v' || argv[0] === '-V' ? ['version', ...argv.slice(1)] : argv
}

type Found =
  | { kind: 'command'; words: string[]; rest: string[]; load(): Promise<AnyCommand> }
  | { kind: 'group'; words: string[]; rest: string[] }

/** The words of the command come first; flags may stand before and between them. */
export function findCommand(argv: readonly string[]): Found {
  const words: string[] = []
  const rest: string[] = []
  let entries: Readonly<Record<string, Entry>> = catalogue
  for (let i = 0; i < argv.length; i++) {
    const word = argv[i]!
    if (word === '--') {
      rest.push(...argv.slice(i))
      break
    }
    if (word.startsWith('-') && word !== '-') {
      rest.push(word)
      if (globalFlagsWithValue.includes(word) && i + 1 < argv.length) rest.push(argv[++i]!)
      continue
    }
    const found = lookUp(entries, word)
    if (found === null) return unknownWord(words, word, entries, argv.slice(i + 1), rest)
    const [name, entry] = found
    words.push(name)
    if (!isGroup(entry)) return { kind: 'command', words, rest: [...rest, ...argv.slice(i + 1)], load: entry.load }
    entries = entry.commands
  }
  return { kind: 'group', words, rest }
}

const projectName = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/

/** A first word that is no command may be the name of a project to make; only the command itself can ask. */
function unknownWord(
  words: readonly string[],
  word: string,
  entries: Readonly<Record<string, Entry>>,
  after: readonly string[],
  before: readonly string[],
): Found {
  const unknown = unknownCommand(words, word, entries, after)
  const rest = [...before, ...after]
  const takes = ['--yes', '--no-wire', '--json', '--no-color']
  if (words.length > 0 || !projectName.test(word) || !rest.every((flag) => takes.includes(flag))) throw unknown
  return {
    kind: 'command',
    words: [word],
    rest,
    load: async () => (await import('./commands/new-project.ts')).newProject(word, unknown),
  }
}

function unknownCommand(
  words: readonly string[],
  word: string,
  entries: Readonly<Record<string, Entry>>,
  after: readonly string[],
): UsageError {
  const before = ['svc', ...words].join(' ')
  const meant = closest(
    word,
    Object.entries(entries).flatMap(([name, entry]) => [name].concat(entry.aliases)),
  )
  const shown = JSON.stringify(word)
  // A first word may have been meant as the name of a new project.
  const projects = words.length === 0 && projectName.test(word) ? [`svc ${quote(word)} --yes`, 'svc init'] : []
  const hint =
    projects.length > 0 ? { hint: 'With --yes it is the name of a new project; svc init makes this folder one.' } : {}
  if (meant === null)
    return new UsageError(`Unknown command ${shown}`, { ...hint, next: [`${before} --help`, ...projects] })
  return new UsageError(`Unknown command ${shown}. Did you mean ${before} ${meant}?`, {
    ...hint,
    next: [[before, meant, ...after.map(quote)].join(' '), `${before} --help`, ...projects],
  })
}

function beforeTerminator(argv: readonly string[]): readonly string[] {
  const end = argv.indexOf('--')
  return end === -1 ? argv : argv.slice(0, end)
}
