/** Commands a person named: `svc alias set co 'cr checkout'` makes `svc co 3`. */
import { configPath, readConfig } from './config-file.ts'
import { UsageError } from './errors.ts'
import type { Io } from './io.ts'

/** Null when the word is no alias. `$1` to `$9` take what stood behind it; what none of them takes goes to the end. */
export async function expandAlias(
  io: Pick<Io, 'env'>,
  given: { word: string; before: readonly string[]; after: readonly string[] },
): Promise<string[] | null> {
  // Without a home there is no configuration, and no alias.
  if (!io.env.HOME && !io.env.SVC_CONFIG_FILE) return null
  const { aliases = {} } = await readConfig(configPath(io))
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

/** As a shell splits words, with quotes and nothing else. */
export function splitWords(text: string): string[] {
  return [...text.matchAll(/(?:[^\s'"]|'[^']*'|"[^"]*")+/g)].map(([word]) =>
    word.replace(/'([^']*)'|"([^"]*)"/g, (_, single?: string, double?: string) => single ?? double ?? ''),
  )
}
