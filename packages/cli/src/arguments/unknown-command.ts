/** Suggests the command that an unknown word most likely meant. */
import { closest } from '@svc/contract/schemas/closest'
import { catalogue, type Entry, entryOf, isGroup, lookUp } from './catalogue.ts'
import { UsageError } from '../errors.ts'
import { parses } from './parse-command-line.ts'
import { quote } from './shell-word.ts'

export interface Unknown {
  /** The words of the command before it. */
  words: readonly string[]
  word: string
  entries: Readonly<Record<string, Entry>>
  after: readonly string[]
}

/** Shorter verbs resemble too many other words. */
const verbLengthMin = 5

/** Commands with a similar name, best first: at this level, else the verbs of the groups. */
export function resembles({ words, word, entries }: Omit<Unknown, 'after'>): string[][] {
  const here = closest(
    word,
    Object.entries(entries).flatMap(([name, entry]) => [name].concat(entry.aliases)),
  )
  if (here !== null) return [[...words, here]]
  if (words.length > 0) return []
  return Object.entries(catalogue).flatMap(([group, entry]) => {
    if (!isGroup(entry)) return []
    const verbs = Object.entries(entry.commands).flatMap(([name, leaf]) => [name].concat(leaf.aliases))
    const verb = verbs.includes(word) ? word : word.length < verbLengthMin ? null : closest(word, verbs)
    return verb === null ? [] : [[group, verb]]
  })
}

const mostShown = 3

export async function unknownCommand(unknown: Unknown): Promise<UsageError> {
  const meant = resembles(unknown).slice(0, mostShown)
  const shown = `Unknown command ${JSON.stringify(unknown.word)}`
  const before = ['svc', ...unknown.words].join(' ')
  if (meant.length === 0) return new UsageError(shown, { next: [`${before} --help`] })
  const named = meant.map((words) => ['svc', ...words].join(' '))
  const or = named.length === 1 ? named[0]! : `${named.slice(0, -1).join(', ')} or ${named.at(-1)}`
  const corrected = await Promise.all(meant.map((words) => correctedLine(words, unknown.after)))
  return new UsageError(`${shown}. Did you mean ${or}?`, { next: [...new Set([...corrected, `${before} --help`])] })
}

/** Keeps the words after the unknown one if the suggested command accepts them; otherwise suggests its help. */
async function correctedLine(words: readonly string[], after: readonly string[]): Promise<string> {
  const entry = entryOf(words)
  const isGood = isGroup(entry) ? await groupTakes(entry.commands, after) : parses(words, after, await entry.load())
  return ['svc', ...words, ...(isGood ? after.map(quote) : ['--help'])].join(' ')
}

async function groupTakes(commands: Readonly<Record<string, Entry>>, after: readonly string[]): Promise<boolean> {
  const [verb, ...rest] = after
  if (verb === undefined || verb.startsWith('-')) return after.length === 0 || after.join(' ') === '--json'
  const found = lookUp(commands, verb)
  return found !== null && !isGroup(found[1]) && parses([verb], rest, await found[1].load())
}
