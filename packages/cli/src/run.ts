/** Finds and runs the command of a command line, and decides the exit code. */
import { catalogue, type Entry, isGroup, lookUp } from './arguments/catalogue.ts'
import { ServiceError } from '@svc/contract/errors'
import type { AnyCommand, Globals } from './arguments/command.ts'
import { createContext } from './context.ts'
import { ProgramEnded, UsageError } from './errors.ts'
import type { Io } from './io.ts'
import { createOutput } from './terminal/output.ts'
import { globalFlagsWithValue, parseCommandLine } from './arguments/parse-command-line.ts'
import { inProject, withSettings } from './arguments/shell-word.ts'
import type { Unknown } from './arguments/unknown-command.ts'

/** 0 success, 1 failure, 2 invalid command line; any other code is that of a program in a sandbox. */
export type ExitCode = number

export async function run(argv: readonly string[], io: Io): Promise<ExitCode> {
  let chosen: Globals | null = null
  let words: readonly string[] = []
  try {
    if (argv[0] === '__complete') {
      const { complete } = await import('./completion/complete.ts')
      await complete(io, argv.slice(argv[1] === '--' ? 2 : 1))
      return 0
    }
    const found = await commandFor(asVersion(argv), io)
    words = found.words
    const command = found.kind === 'command' ? await found.load() : null
    const { globals, args, flags } = parseCommandLine(found.words, found.rest, command ?? wordsOfGroup)
    chosen = globals
    if (globals.help || command === null) {
      const { showHelp } = await import('./arguments/help.ts')
      await showHelp(createOutput(io, { json: globals.json, noColor: globals['no-color'] }), found.words)
      return 0
    }
    const asksFilter = globals.fields !== undefined || globals.jq !== undefined || globals.template !== undefined
    const filter = asksFilter ? await filterOf(globals) : null
    const ctx = createContext(io, globals, filter)
    const { watchForUpdate } = command.scope === 'nothing' ? noNotice : await import('./install/update-notice.ts')
    const sayUpdate = watchForUpdate(ctx)
    await command.run(ctx, { args: args as never, flags: flags as never })
    await ctx.out.written()
    await sayUpdate()
    return 0
  } catch (error) {
    if (error instanceof ProgramEnded) return error.code
    const { explain, report } = await import('./terminal/explain.ts')
    const typed = beforeTerminator(argv)
    const out = createOutput(io, {
      json: typed.some((word) => /^--json(=|$)/.test(word)),
      noColor: typed.includes('--no-color'),
    })
    const problem = explain(error, io)
    const next = problem.next.length > 0 ? problem.next : nextOf(error, words)
    report(io, out, { ...problem, next: next.map((line) => withSettings(inProject(line, chosen?.project), io.env)) })
    return error instanceof UsageError ? 2 : 1
  }
}

async function filterOf(globals: Globals) {
  const { checkFilter, createFilter } = await import('./terminal/filter.ts')
  await checkFilter(globals)
  return createFilter(globals)
}

/** The suggestion of an error that has none: the help, or the list. */
function nextOf(error: unknown, words: readonly string[]): string[] {
  if (error instanceof UsageError) return [['svc', ...words, '--help'].join(' ')]
  if (!(error instanceof ServiceError) || error.code !== 'not_found' || words.length !== 2) return []
  const [group, verb] = words as [string, string]
  const entry = lookUp(catalogue, group)![1]
  if (verb === 'ls' || !isGroup(entry)) return group === 'projects' || verb !== 'ls' ? [] : ['svc projects ls']
  return entry.commands.ls === undefined ? [] : [`svc ${group} ls`]
}

const noNotice = { watchForUpdate: () => async () => {} }

/** The words of a group alone accept the flags of every command. */
const wordsOfGroup: Pick<AnyCommand, 'scope' | 'args' | 'flags'> = { scope: 'project', args: {}, flags: {} }

/** `svc --version`, as in every program. */
function asVersion(argv: readonly string[]): readonly string[] {
  return argv[0] === '--version' || argv[0] === '-v' || argv[0] === '-V' ? ['version', ...argv.slice(1)] : argv
}

/** An unknown first word may be the name of a new project. Only that command can ask. */
async function commandFor(argv: readonly string[], io: Io): Promise<Exclude<Found, { kind: 'unknown' }>> {
  const found = findCommand(argv)
  if (found.kind !== 'unknown') return found
  if (found.words.length === 0) {
    const { expandAlias } = await import('./arguments/alias.ts')
    const expanded = await expandAlias(io, found)
    if (expanded !== null) return commandOfAlias(expanded)
  }
  const { unknownCommand, resembles } = await import('./arguments/unknown-command.ts')
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
  const { unknownCommand } = await import('./arguments/unknown-command.ts')
  throw await unknownCommand(found)
}

const projectName = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/

type Found =
  | { kind: 'command'; words: string[]; rest: string[]; load(): Promise<AnyCommand> }
  | { kind: 'group'; words: string[]; rest: string[] }
  | (Unknown & { kind: 'unknown'; before: readonly string[] })

/** The words of the command come first; flags may be before and between them. */
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
