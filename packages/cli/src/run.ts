/** A command line becomes a command and an exit code. Nothing else in the client decides one. */
import { catalogue, type Entry, isGroup, lookUp } from './catalogue.ts'
import type { AnyCommand, Globals } from './command.ts'
import { createContext } from './context.ts'
import { UsageError } from './errors.ts'
import type { Io } from './io.ts'
import { createOutput } from './output.ts'
import { globalFlagsWithValue, parseCommandLine } from './parse-command-line.ts'
import { inProject } from './shell.ts'
import type { Unknown } from './unknown-command.ts'

export type ExitCode = 0 | 1 | 2

export async function run(argv: readonly string[], io: Io): Promise<ExitCode> {
  let chosen: Globals | null = null
  let words: readonly string[] = []
  try {
    if (argv[0] === '__complete') {
      const { complete } = await import('./complete.ts')
      await complete(io, argv.slice(argv[1] === '--' ? 2 : 1))
      return 0
    }
    const found = await commandFor(asVersion(argv), io)
    words = found.words
    const command = found.kind === 'command' ? await found.load() : null
    const { globals, args, flags } = parseCommandLine(found.words, found.rest, command ?? wordsOfGroup)
    chosen = globals
    if (globals.help || command === null) {
      const { showHelp } = await import('./help.ts')
      await showHelp(createOutput(io, { json: globals.json, noColor: globals['no-color'] }), found.words)
      return 0
    }
    const asksFilter = globals.fields !== undefined || globals.jq !== undefined || globals.template !== undefined
    const filter = asksFilter ? (await import('./filter.ts')).createFilter(globals) : null
    const ctx = createContext(io, globals, filter)
    const { watchForUpdate } = command.scope === 'nothing' ? noNotice : await import('./update-notice.ts')
    const sayUpdate = watchForUpdate(ctx)
    await command.run(ctx, { args: args as never, flags: flags as never })
    await ctx.out.written()
    await sayUpdate()
    return 0
  } catch (error) {
    const { explain, report } = await import('./explain.ts')
    const typed = beforeTerminator(argv)
    const out = createOutput(io, {
      json: typed.some((word) => /^--json(=|$)/.test(word)),
      noColor: typed.includes('--no-color'),
    })
    const problem = explain(error, io)
    const next = error instanceof UsageError && problem.next.length === 0 ? [helpOf(words)] : problem.next
    report(io, out, { ...problem, next: next.map((line) => inProject(line, chosen?.project)) })
    return error instanceof UsageError ? 2 : 1
  }
}

function helpOf(words: readonly string[]): string {
  return ['svc', ...words, '--help'].join(' ')
}

/** What speaks to no server keeps to itself. */
const noNotice = { watchForUpdate: () => async () => {} }

/** The words of a group alone take what every command takes. */
const wordsOfGroup: Pick<AnyCommand, 'scope' | 'args' | 'flags'> = { scope: 'project', args: {}, flags: {} }

/** `svc --version` is what every program answers. */
function asVersion(argv: readonly string[]): readonly string[] {
  return argv[0] === '--version' || argv[0] === '-v' || argv[0] === '-V' ? ['version', ...argv.slice(1)] : argv
}

/** A first word that is no command and resembles none may be the name of a new project; only that command itself can ask. */
async function commandFor(argv: readonly string[], io: Io): Promise<Exclude<Found, { kind: 'unknown' }>> {
  const found = findCommand(argv)
  if (found.kind !== 'unknown') return found
  if (found.words.length === 0) {
    const { expandAlias } = await import('./alias.ts')
    const expanded = await expandAlias(io, found)
    if (expanded !== null) return commandOfAlias(expanded)
  }
  const { unknownCommand, resembles } = await import('./unknown-command.ts')
  const unknown = await unknownCommand(found)
  const { word, before, after } = found
  const rest = [...before, ...after]
  const takes = ['--yes', '--no-wire', '--json', '--no-color']
  const isName = found.words.length === 0 && projectName.test(word) && resembles(found).length === 0
  if (!isName || !rest.every((flag) => takes.includes(flag))) throw unknown
  const load = async () => (await import('./commands/new-project.ts')).newProject(word, unknown)
  return { kind: 'command', words: [word], rest, load }
}

/** An alias expands to a command, never to another alias. */
async function commandOfAlias(argv: readonly string[]): Promise<Exclude<Found, { kind: 'unknown' }>> {
  const found = findCommand(argv)
  if (found.kind !== 'unknown') return found
  const { unknownCommand } = await import('./unknown-command.ts')
  throw await unknownCommand(found)
}

const projectName = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/

type Found =
  | { kind: 'command'; words: string[]; rest: string[]; load(): Promise<AnyCommand> }
  | { kind: 'group'; words: string[]; rest: string[] }
  | (Unknown & { kind: 'unknown'; before: readonly string[] })

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
    if (found === null) return { kind: 'unknown', words, word, entries, after: argv.slice(i + 1), before: rest }
    const [name, entry] = found
    words.push(name)
    if (!isGroup(entry)) return { kind: 'command', words, rest: [...rest, ...argv.slice(i + 1)], load: entry.load }
    entries = entry.commands
  }
  return { kind: 'group', words, rest }
}

function beforeTerminator(argv: readonly string[]): readonly string[] {
  const end = argv.indexOf('--')
  return end === -1 ? argv : argv.slice(0, end)
}
