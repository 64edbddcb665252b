/** Parses a command line into the arguments and flags of a command. */
import { parseArgs } from 'node:util'
import { type AnyCommand, aliasesOf, type Args, type Flag, type Flags, type Globals, globalFlags } from './command.ts'
import { UsageError } from '../errors.ts'
import { quote } from './shell-word.ts'
import { closest } from '@svc/contract/schemas/closest'

/** Global flags that take a value. They may come before the command, so finding its words requires them. */
export const globalFlagsWithValue: readonly string[] = ['--host', '--project', '-R', '--jq', '--template']

export interface Parsed {
  globals: Globals
  args: Record<string, string | string[] | undefined>
  flags: Record<string, string | string[] | boolean | number | undefined>
}

/** `words` is the command's name, for messages. */
export function parseCommandLine(
  words: readonly string[],
  input: readonly string[],
  definition: Pick<AnyCommand, 'scope' | 'args' | 'flags'>,
): Parsed {
  const flags: Flags = { ...definition.flags, ...globalFlags(definition.scope) }
  const named = byEveryName(flags)
  const command = ['svc', ...words].join(' ')

  const values: Record<string, string | string[] | boolean | number> = {}
  const positionals: { value: string; index: number }[] = []
  let jsonAt: number | null = null
  for (const token of tokensOf(input, named)) {
    if (token.kind === 'positional') positionals.push(token)
    if (token.kind !== 'option') continue
    const known = named.get(token.name)
    if (known === undefined) throw unknownFlag(words, input, token.rawName, named, definition)
    const [name, flag] = known
    if (name === 'json' && token.value === undefined) jsonAt = token.index
    if (name === 'json' && fieldNames.test(token.value ?? '')) {
      values.fields = token.value!
      values.json = true
      continue
    }
    const isMany = flag.kind === 'text' && flag.many === true
    if (name in values && flag.kind !== 'switch' && !isMany) throw usage(command, `${token.rawName} is given twice`)
    if (flag.kind === 'number' && token.value !== undefined) values[name] = numberValue(command, input, flag, token)
    else {
      const value = flagValue(command, flag, token.rawName, token.value, token.inlineValue === true, named)
      values[name] = isMany ? [...((values[name] as string[] | undefined) ?? []), value as string] : value
    }
  }
  const fields = takeFields(positionals, jsonAt, definition.args)
  const given = fields === null ? positionals : positionals.filter((one) => one !== fields)
  const argWords = given.map(({ value }) => value)
  const globals: Globals = {
    json: values.json === true || values.jq !== undefined || values.template !== undefined,
    ...(fields === null && values.fields === undefined ? {} : { fields: fields?.value ?? String(values.fields) }),
    ...(typeof values.jq === 'string' ? { jq: values.jq } : {}),
    ...(typeof values.template === 'string' ? { template: values.template } : {}),
    'no-color': values['no-color'] === true,
    help: values.help === true,
    ...(typeof values.host === 'string' ? { host: values.host } : {}),
    ...(typeof values.project === 'string' ? { project: values.project } : {}),
  }
  if (globals.help) return { globals, args: {}, flags: {} }
  return {
    globals,
    args: takeArgs(command, argWords, definition.args),
    flags: Object.fromEntries(
      Object.entries(definition.flags).map(([name, flag]) => {
        if (flag.kind === 'text' && flag.required && values[name] === undefined)
          // Leave out the other flags: one may hold a token.
          throw usage(
            command,
            `Missing --${name} <${flag.value}>`,
            [command, ...argWords.map(quote), `--${name}`, quote(`<${flag.value}>`)].join(' '),
          )
        return [name, values[name] ?? usually(flag)]
      }),
    ),
  }
}

/** Each flag by its name, its aliases and its letter. */
function byEveryName(flags: Flags): Map<string, [string, Flag]> {
  return new Map(
    Object.entries(flags).flatMap(([name, flag]) =>
      [name, ...aliasesOf(flag), ...(flag.short === undefined ? [] : [flag.short])].map((each) => [each, [name, flag]]),
    ),
  )
}

function tokensOf(input: readonly string[], named: ReadonlyMap<string, readonly [string, Flag]>) {
  const options = [...named].map(([name, [, flag]]) => [
    name,
    { type: flag.kind === 'switch' ? 'boolean' : 'string', ...(name.length === 1 ? { short: name } : {}) },
  ])
  return parseArgs({
    args: [...input],
    ...{ strict: false, allowPositionals: true, tokens: true },
    options: Object.fromEntries(options) as Record<string, { type: 'boolean' | 'string' }>,
  } as const).tokens
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
  // A text may begin with a dash; only the name of another flag means that the value is missing.
  if (value === undefined || (!inline && value.startsWith('--') && named.has(value.slice(2).split('=')[0]!)))
    throw usage(command, `${shown} needs a value`)
  if (flag.kind === 'choice' && !flag.choices.includes(value)) {
    const meant = closest(value, flag.choices)
    throw usage(
      command,
      `${shown} must be one of ${flag.choices.join(', ')}, not ${JSON.stringify(value)}`,
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
        hint: arg.hint,
        next: [[typed(command, given), ...missingFrom(name, args)].join(' '), `${command} --help`],
      })
    values[name] = value
  }
  if (left.length > 0) throw usage(command, `Unexpected ${JSON.stringify(left[0])}`)
  return values
}

function missingFrom(name: string, args: Args): string[] {
  const required = Object.entries(args).filter(([, arg]) => !arg.optional)
  return required.slice(required.findIndex(([each]) => each === name)).map(([each]) => `<${each}>`)
}

const fieldNames = /^[a-z_][\w.]*(,[a-z_][\w.]*)*$/i

/** The word after `--json`, if it lists fields or if the command takes no argument there. */
function takeFields(
  positionals: readonly { value: string; index: number }[],
  jsonAt: number | null,
  args: Args,
): { value: string; index: number } | null {
  const next = positionals.find(({ index }) => jsonAt !== null && index === jsonAt + 1)
  if (next === undefined || !fieldNames.test(next.value)) return null
  const all = Object.values(args)
  if (all.some((arg) => arg.many)) return null
  return next.value.includes(',') || positionals.length > all.length ? next : null
}

function usually(flag: Flag): string[] | boolean | number | undefined {
  if (flag.kind === 'text' && flag.many) return []
  if (flag.kind === 'switch') return false
  return flag.kind === 'number' ? flag.usual : undefined
}

function numberValue(
  command: string,
  input: readonly string[],
  flag: Extract<Flag, { kind: 'number' }>,
  token: { rawName: string; value: string; index: number; inlineValue: boolean },
): number {
  const { min, max, usual = min } = flag
  const value = Number(token.value)
  if (/^\d{1,15}$/.test(token.value) && value >= min && value <= max) return value
  const nearest = /^-?\d+$/.test(token.value) ? Math.min(max, Math.max(min, value)) : usual
  const rest = input.slice(token.index + (token.inlineValue ? 1 : 2))
  const corrected = [...input.slice(0, token.index), token.rawName, String(nearest), ...rest]
  throw usage(
    command,
    `${token.rawName} must be a whole number from ${min} to ${max}, not ${JSON.stringify(token.value)}`,
    typed(command, corrected),
  )
}

function unknownFlag(
  words: readonly string[],
  input: readonly string[],
  shown: string,
  named: ReadonlyMap<string, readonly [string, Flag]>,
  definition: Pick<AnyCommand, 'scope' | 'args' | 'flags'>,
): UsageError {
  const command = ['svc', ...words].join(' ')
  const names = [...named.keys()].filter((name) => name.length > 1)
  const given = shown.replace(/^-+/, '')
  const longer = names.filter((name) => name.startsWith(given))
  const found = longer.length === 1 ? longer[0]! : closest(given, names)
  if (found === null) return usage(command, `Unknown flag ${shown}`)
  // Suggest a flag by its main name, not by an alias.
  const [meant] = named.get(found)!
  const renamed = input.map((word) =>
    word === shown || word.startsWith(`${shown}=`) ? `--${meant}${word.slice(shown.length)}` : word,
  )
  // Suggest only a command that parses; fill in a missing value with its placeholder.
  const corrected = [renamed, withValue(renamed, `--${meant}`, named.get(meant)![1])].find((line) =>
    parses(words, line, definition),
  )
  return usage(command, `Unknown flag ${shown}. Did you mean --${meant}?`, corrected && typed(command, corrected))
}

function withValue(input: readonly string[], shown: string, flag: Flag): readonly string[] {
  if (flag.kind === 'switch') return input
  const value =
    flag.kind === 'choice'
      ? flag.choices[0]!
      : flag.kind === 'number'
        ? String(flag.usual ?? flag.min)
        : `<${flag.value}>`
  return input.flatMap((word) => (word === shown ? [word, value] : [word]))
}

export function parses(
  words: readonly string[],
  input: readonly string[],
  definition: Pick<AnyCommand, 'scope' | 'args' | 'flags'>,
): boolean {
  try {
    parseCommandLine(words, input, definition)
    return true
  } catch (error) {
    if (error instanceof UsageError) return false
    throw error
  }
}

/** Quoted for a shell. Replaces a token by `-`, which reads it from stdin. */
function typed(command: string, input: readonly string[]): string {
  return [command, ...input.map((word) => quote(word.replace(/svc_pat_\w+/, '-')))].join(' ')
}

function usage(command: string, message: string, corrected?: string): UsageError {
  return new UsageError(message, { next: [...(corrected === undefined ? [] : [corrected]), `${command} --help`] })
}
