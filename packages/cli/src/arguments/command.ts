/** The definition of a command. */
import type { Context } from '../context.ts'

export type Named =
  | 'cr'
  | 'session'
  | 'app'
  | 'project'
  | 'host'
  | 'secret'
  | 'member'
  | 'model'
  | 'token'
  | 'setting'
  | 'webhook'
  | 'event'
  | 'command'
  | 'shell'
  | 'file'

export interface Arg {
  summary: string
  names?: Named
  optional?: true
  many?: true
  /** The hint shown when it is missing. */
  hint?: string
}

export type Flag = TextFlag | SwitchFlag | ChoiceFlag | NumberFlag
interface TextFlag {
  kind: 'text'
  summary: string
  /** The placeholder for the value in help. */
  value: string
  names?: Named
  required?: true
  aliases?: readonly string[]
  /** A one-letter form. */
  short?: string
  /** May be repeated. */
  many?: true
}
interface NumberFlag {
  kind: 'number'
  summary: string
  value: string
  min: number
  max: number
  usual?: number
  short?: string
}
interface SwitchFlag {
  kind: 'switch'
  summary: string
  /** An optional value after the flag. */
  value?: string
  /** A one-letter form. */
  short?: string
}
interface ChoiceFlag {
  kind: 'choice'
  summary: string
  choices: readonly string[]
  aliases?: readonly string[]
  /** A one-letter form. */
  short?: string
}

export function aliasesOf(flag: Flag): readonly string[] {
  return flag.kind === 'text' || flag.kind === 'choice' ? (flag.aliases ?? []) : []
}

export type Args = Readonly<Record<string, Arg>>
export type Flags = Readonly<Record<string, Flag>>

type ArgValues<A extends Args> = {
  [K in keyof A]: A[K] extends { many: true } ? string[] : A[K] extends { optional: true } ? string | undefined : string
}
type FlagValues<F extends Flags> = {
  [K in keyof F]: F[K] extends SwitchFlag
    ? boolean
    : F[K] extends { kind: 'number'; usual: number }
      ? number
      : F[K] extends NumberFlag
        ? number | undefined
        : F[K] extends { kind: 'choice'; choices: readonly (infer Choice)[] }
          ? Choice | undefined
          : F[K] extends { many: true }
            ? string[]
            : F[K] extends { required: true }
              ? string
              : string | undefined
}

/** `nothing` needs no server, `host` needs a server, `project` needs a project on it. The scope decides which global flags exist. */
type Scope = 'nothing' | 'host' | 'project'

interface Command<A extends Args, F extends Flags> {
  summary: string
  about?: readonly string[]
  scope: Scope
  args?: A
  flags?: F
  examples: readonly string[]
  run(ctx: Context, input: { args: ArgValues<A>; flags: FlagValues<F> }): Promise<void>
}

/** A command without its type parameters, as the catalogue holds it. */
export type AnyCommand = Omit<Required<Command<Args, Flags>>, 'run' | 'about'> & {
  about?: readonly string[]
  run(ctx: Context, input: { args: never; flags: never }): Promise<void>
}

export function command<const A extends Args = Record<never, Arg>, const F extends Flags = Record<never, Flag>>(
  definition: Command<A, F>,
): AnyCommand {
  return { args: {}, flags: {}, ...definition } as unknown as AnyCommand
}

export interface Globals {
  json: boolean
  /** The fields to print: the names after `--json`. */
  fields?: string
  jq?: string
  template?: string
  'no-color': boolean
  help: boolean
  host?: string
  project?: string
}

const everywhere: Flags = {
  json: {
    kind: 'switch',
    summary: 'Print one JSON document, or only these fields; errors are JSON on stderr',
    value: 'field,…',
  },
  jq: { kind: 'text', summary: 'Filter the JSON output with a jq expression', value: 'expression' },
  template: { kind: 'text', summary: "Print each item in this format, such as '#{number} {title}'", value: 'text' },
  'no-color': { kind: 'switch', summary: 'No color (same as NO_COLOR)' },
  help: { kind: 'switch', summary: 'Show this help', short: 'h' },
}
const hostFlag: Flags = {
  host: { kind: 'text', summary: 'Use this host for one command', value: 'name', names: 'host' },
}
const projectFlag: Flags = {
  project: {
    kind: 'text',
    summary: 'Use this project for one command',
    value: 'id|slug',
    names: 'project',
    short: 'R',
  },
}

export function globalFlags(scope: Scope): Flags {
  if (scope === 'nothing') return everywhere
  return scope === 'host' ? { ...hostFlag, ...everywhere } : { ...projectFlag, ...hostFlag, ...everywhere }
}
