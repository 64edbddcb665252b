/** How a command line becomes the arguments and flags of a command. */
import { parseArgs } from 'node:util'
import { type AnyCommand, type Args, type Flag, type Flags, type Globals, globalFlags } from './command.ts'
import { UsageError } from './errors.ts'
import { quote } from './shell.ts'
import { closest } from '@svc/contract/closest'

/** Global flags with a value, wherever they stand: needed to find the command's words among them. */
export const globalFlagsWithValue: readonly string[] = ['--host', '--project']

export interface Parsed {
  globals: Globals
  args: Record<string, string | string[] | undefined>
  flags: Record<string, string | boolean | undefined>
}

/** `words` is the command as it was found, for messages. */
export function parseCommandLine(
  words: readonly string[],
  input: readonly string[],
  definition: Pick<AnyCommand, 'scope' | 'args' | 'flags'>,
): Parsed {
  const flags: Flags = { ...definition.flags, ...globalFlags(definition.scope) }
  const named = new Map<string, [string, Flag]>()
  for (const [name, flag] of Object.entries(flags)) {
    named.set(name, [name, flag])
    for (const alias of flag.kind === 'text' ? (flag.aliases ?? []) : []) named.set(alias, [name, flag])
    if (flag.kind === 'switch' && flag.short !== undefined) named.set(flag.short, [name, flag])
  }
  const command = ['svc', ...words].join(' ')
  const { tokens } = parseArgs({
    args: [...input],
    strict: false,
    allowPositionals: true,
    tokens: true,
    options: Object.fromEntries(
      [...named].map(([name, [, flag]]) => [
        name,
        { type: flag.kind === 'switch' ? 'boolean' : 'string', ...(name.length === 1 ? { short: name } : {}) },
      ]),
    ),
  })

  const values: Record<string, string | boolean> = {}
  const positionals: string[] = []
  for (const token of tokens) {
    if (token.kind === 'positional') positionals.push(token.value)
    if (token.kind !== 'option') continue
    const known = named.get(token.name)
    if (known === undefined) throw unknownFlag(command, input, token.rawName, [...named.keys()])
    const [name, flag] = known
    if (name in values && flag.kind !== 'switch') throw usage(command, `${token.rawName} is given twice`)
    values[name] = flagValue(command, flag, token.rawName, token.value, token.inlineValue === true, named)
  }
  const globals: Globals = {
    json: values.json === true,
    'no-color': values['no-color'] === true,
    help: values.help === true,
    ...(typeof values.host === 'string' ? { host: values.host } : {}),
    ...(typeof values.project === 'string' ? { project: values.project } : {}),
  }
  if (globals.help) return { globals, args: {}, flags: {} }
  return {
    globals,
    args: takeArgs(command, positionals, definition.args),
    flags: Object.fromEntries(
      Object.entries(definition.flags).map(([name, flag]) => {
        if (flag.kind === 'text' && flag.required && values[name] === undefined)
          // Without the other flags: one may hold a token.
          throw usage(
            command,
            `Missing --${name} <${flag.value}>`,
            [command, ...positionals.map(quote), `--${name}`, quote(`<${flag.value}>`)].join(' '),
          )
        return [name, values[name] ?? (flag.kind === 'switch' ? false : undefined)]
      }),
    ),
  }
}

function flagValue(
  command: string,
  flag: Flag,
  shown: string,
  value: string | undefined,
  inline: boolean,
  named: ReadonlyMap<string, unknown>,
): string | boolean {
  if (flag.kind === 'switch') {
    if (value !== undefined) throw usage(command, `${shown} takes no value`)
    return true
  }
  // A text may begin with a dash; only the name of another flag says that the value was forgotten.
  if (value === undefined || (!inline && value.startsWith('--') && named.has(value.slice(2).split('=')[0]!)))
    throw usage(command, `${shown} needs a value`)
  if (flag.kind === 'choice' && !flag.choices.includes(value)) {
    const meant = closest(value, flag.choices)
    throw usage(
      command,
      `${shown} is one of ${flag.choices.join(', ')}; not ${JSON.stringify(value)}`,
      meant === null ? undefined : `${command} ${shown} ${meant}`,
    )
  }
  return value
}

function takeArgs(command: string, given: readonly string[], args: Args): Parsed['args'] {
  const left = [...given]
  const values: Parsed['args'] = {}
  for (const [name, arg] of Object.entries(args)) {
    const value = arg.many ? left.splice(0) : left.shift()
    if ((value === undefined || value.length === 0) && !arg.optional)
      throw new UsageError(`Missing <${name}>`, {
        ...(arg.hint === undefined ? {} : { hint: arg.hint }),
        next: [`${command} <${name}>`, `${command} --help`],
      })
    values[name] = value
  }
  if (left.length > 0) throw usage(command, `Unexpected ${JSON.stringify(left[0])}`)
  return values
}

function unknownFlag(command: string, input: readonly string[], shown: string, names: readonly string[]): UsageError {
  const meant = closest(
    shown.replace(/^-+/, ''),
    names.filter((name) => name.length > 1),
  )
  if (meant === null) return usage(command, `Unknown flag ${shown}`)
  const corrected = input.map((word) =>
    word === shown || word.startsWith(`${shown}=`) ? `--${meant}${word.slice(shown.length)}` : word,
  )
  return usage(
    command,
    `Unknown flag ${shown}. Did you mean --${meant}?`,
    // A token is not said again: with - it is read from stdin.
    [command, ...corrected.map((word) => quote(word.replace(/svc_pat_\w+/, '-')))].join(' '),
  )
}

function usage(command: string, message: string, corrected?: string): UsageError {
  return new UsageError(message, { next: [...(corrected === undefined ? [] : [corrected]), `${command} --help`] })
}
