/** Completion of the word at the cursor. Every Tab runs this, so it is fast, prints nothing else, and returns no candidates on an error. */
import { readAliases, wordsBefore } from '../arguments/alias.ts'
import { catalogue, type Entry, isGroup, lookUp } from '../arguments/catalogue.ts'
import { aliasesOf, type AnyCommand, type Flag, globalFlags, type Named } from '../arguments/command.ts'
import { createContext } from '../context.ts'
import type { Io } from '../io.ts'
import { globalFlagsWithValue } from '../arguments/parse-command-line.ts'
import { safe } from '../terminal/safe.ts'

interface Candidate {
  value: string
  about: string
}

/** A Tab must not take longer. */
const patienceMs = 1500

/** `words` are those after `svc`; the last one is being typed and may be empty. */
export async function complete(io: Io, words: readonly string[]): Promise<void> {
  const typed = words.at(-1) ?? ''
  const all = await candidates(io, words.slice(0, -1), typed).catch(noCandidates)
  for (const { value, about } of all) {
    if (value !== ':file' && !value.startsWith(typed)) continue
    io.stdout.write(`${safe(value)}${about === '' ? '' : `\t${safe(about)}`}\n`)
  }
}

/** No token, no project or no server: each means that there are no candidates. */
function noCandidates(): Candidate[] {
  return []
}

async function candidates(io: Io, before: readonly string[], typed: string): Promise<Candidate[]> {
  const at = await walk(await withoutAlias(io, before))
  if (at.kind === 'words') {
    if (typed.startsWith('-')) return []
    return firstWord(before) === before.length ? [...at.candidates, ...(await aliases(io))] : at.candidates
  }
  const { command, positionals, pending, flags, given } = at
  if (pending !== null) return ofFlag(io, pending, given)
  if (typed.startsWith('-'))
    return Object.entries(flags)
      .filter(([name, flag]) => !given.has(name) || (flag.kind === 'text' && flag.many))
      .map(([name, flag]) => ({ value: `--${name}`, about: flag.summary }))
  const args = Object.values(command.args)
  const arg = args[positionals] ?? (args.at(-1)?.many ? args.at(-1) : undefined)
  return arg?.names === undefined ? [] : live(io, arg.names, given)
}

async function aliases(io: Io): Promise<Candidate[]> {
  // Commands still complete while the configuration cannot be read.
  const all = await readAliases(io).catch(() => ({}))
  return Object.entries(all).map(([value, expansion]) => ({ value, about: `svc ${expansion}` }))
}

/** After an alias come the arguments of its command. A command wins over an alias, as in run.ts. */
async function withoutAlias(io: Io, before: readonly string[]): Promise<readonly string[]> {
  const at = firstWord(before)
  const word = before[at]
  if (word === undefined || lookUp(catalogue, word) !== null) return before
  const all = await readAliases(io)
  if (!Object.hasOwn(all, word)) return before
  return [...before.slice(0, at), ...wordsBefore(all[word]!, before.slice(at + 1))]
}

function firstWord(words: readonly string[]): number {
  let at = 0
  while (at < words.length && words[at]!.startsWith('-')) at += globalFlagsWithValue.includes(words[at]!) ? 2 : 1
  return Math.min(at, words.length)
}

type Place =
  | { kind: 'words'; candidates: Candidate[] }
  | {
      kind: 'command'
      command: AnyCommand
      positionals: number
      pending: Flag | null
      flags: Readonly<Record<string, Flag>>
      given: Map<string, string>
    }

async function walk(before: readonly string[]): Promise<Place> {
  let entries: Readonly<Record<string, Entry>> = catalogue
  for (let i = 0; i < before.length; i++) {
    if (before[i]!.startsWith('-')) {
      if (globalFlagsWithValue.includes(before[i]!)) i++
      continue
    }
    const found = lookUp(entries, before[i]!)
    if (found === null) return { kind: 'words', candidates: [] }
    const [, entry] = found
    if (!isGroup(entry)) return readFlags(await entry.load(), before.slice(i + 1), before.slice(0, i))
    entries = entry.commands
  }
  return { kind: 'words', candidates: await wordsOf(entries) }
}

async function wordsOf(entries: Readonly<Record<string, Entry>>): Promise<Candidate[]> {
  return Promise.all(
    Object.entries(entries).map(async ([value, entry]) => ({
      value,
      about: isGroup(entry) ? entry.summary : (await entry.load()).summary,
    })),
  )
}

/** Flags may come before the words of the command; only their values matter there. */
function readFlags(command: AnyCommand, after: readonly string[], ahead: readonly string[]): Place {
  const rest = [...ahead.filter((word, i) => word.startsWith('-') || ahead[i - 1]?.startsWith('-')), ...after]
  const flags: Record<string, Flag> = { ...command.flags, ...globalFlags(command.scope) }
  const byName = (word: string) =>
    Object.entries(flags).find(
      ([name, flag]) =>
        `--${name}` === word ||
        (flag.short !== undefined && `-${flag.short}` === word) ||
        aliasesOf(flag).some((a) => `--${a}` === word),
    )
  const given = new Map<string, string>()
  let positionals = 0
  let pending: Flag | null = null
  for (let i = 0; i < rest.length; i++) {
    const word = rest[i]!
    const [name, value] = word.split('=', 2) as [string, string | undefined]
    const found = word.startsWith('-') ? byName(name) : undefined
    if (found === undefined) {
      if (!word.startsWith('-')) positionals++
      continue
    }
    const takesNext = found[1].kind !== 'switch' && value === undefined
    given.set(found[0], value ?? (takesNext ? (rest[i + 1] ?? '') : ''))
    if (takesNext && i + 1 === rest.length) pending = found[1]
    if (takesNext) i++
  }
  return { kind: 'command', command, positionals, pending, flags, given }
}

async function ofFlag(io: Io, flag: Flag, given: ReadonlyMap<string, string>): Promise<Candidate[]> {
  if (flag.kind === 'choice') return flag.choices.map((value) => ({ value, about: '' }))
  return flag.kind === 'text' && flag.names !== undefined ? live(io, flag.names, given) : []
}

/** Current values, read from the server as the command itself does. */
async function live(io: Io, named: Named, given: ReadonlyMap<string, string>): Promise<Candidate[]> {
  if (named === 'file') return [{ value: ':file', about: '' }]
  if (named === 'command') return wordsOf(catalogue)
  if (named === 'shell') return ['bash', 'zsh', 'fish'].map((value) => ({ value, about: '' }))
  const patient: Io = {
    ...io,
    signal: AbortSignal.any([io.signal, AbortSignal.timeout(patienceMs)]),
    stderr: silent(io),
  }
  const ctx = createContext(patient, {
    json: false,
    'no-color': true,
    help: false,
    ...(given.get('host') ? { host: given.get('host')! } : {}),
    ...(given.get('project') ? { project: given.get('project')! } : {}),
  })
  const { offers } = await import('./live.ts')
  return offers[named](ctx)
}

/** The line that names the host would corrupt the prompt. */
function silent(io: Io): Io['stderr'] {
  return { ...io.stderr, isTTY: false, columns: 80, write: () => {} }
}
