/** Aliases the user defines: `svc alias set co 'cr checkout'` makes `svc co 3`. */
import { configPath, readConfig } from '../config/config-file.ts'
import { UsageError } from '../errors.ts'
import type { Io } from '../io.ts'

/** Null when the word is no alias. `$1` to `$9` take the words after it; words that no placeholder takes are appended. */
export async function expandAlias(
  io: Pick<Io, 'env'>,
  given: { word: string; before: readonly string[]; after: readonly string[] },
): Promise<string[] | null> {
  const aliases = await readAliases(io)
  if (!Object.hasOwn(aliases, given.word)) return null
  const taken = new Set<number>()
  const words = splitWords(aliases[given.word]!).map((word) =>
    word.replace(/\$([1-9])/g, (_, digit: string) => {
      const at = Number(digit) - 1
      const value = given.after[at]
      if (value === undefined)
        throw new UsageError(`The alias ${given.word} needs ${digit === '1' ? 'an argument' : `${digit} arguments`}`, {
          next: ['svc alias ls'],
        })
      taken.add(at)
      return value
    }),
  )
  return [...given.before, ...words, ...given.after.filter((_, at) => !taken.has(at))]
}

export async function readAliases(io: Pick<Io, 'env'>): Promise<Readonly<Record<string, string>>> {
  // Without a home directory there is no configuration, and so no alias.
  if (!io.env.HOME && !io.env.SVC_CONFIG_FILE) return {}
  return (await readConfig(configPath(io))).aliases ?? {}
}

/** The words of the alias's command before the word being typed. */
export function wordsBefore(expansion: string, given: readonly string[]): string[] {
  const words = splitWords(expansion)
  const own = words.indexOf(`$${given.length + 1}`)
  const taken = new Set<number>()
  const filled = words.slice(0, own === -1 ? words.length : own).map((word) =>
    word.replace(/\$([1-9])/g, (_, digit: string) => {
      taken.add(Number(digit) - 1)
      return given[Number(digit) - 1] ?? ''
    }),
  )
  return own === -1 ? [...filled, ...given.filter((_, at) => !taken.has(at))] : filled
}

/** Splits words as a shell does, with quotes and nothing else. */
export function splitWords(text: string): string[] {
  return [...text.matchAll(/(?:[^\s'"]|'[^']*'|"[^"]*")+/g)].map(([word]) =>
    word.replace(/'([^']*)'|"([^"]*)"/g, (_, single?: string, double?: string) => single ?? double ?? ''),
  )
}
