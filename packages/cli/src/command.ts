/** What a command says of itself. */
import type { Context } from './context.ts'

/** What a word names, so that completion can offer what there is. */
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
  /** Said when it is missing. */
  hint?: string
}

export type Flag = TextFlag | SwitchFlag | ChoiceFlag | NumberFlag
interface TextFlag {
  kind: 'text'
  summary: string
  /** What stands for the value in help. */
  value: string
  names?: Named
  required?: true
  aliases?: readonly string[]
  /** One letter that stands for it. */
  short?: string
  /** May be given several times. */
  many?: true
}
interface NumberFlag {
  kind: 'number'
  summary: string
  value: string
  min: number
  max: number
  /** The value without the flag. */
  usual?: number
  short?: string
}
interface SwitchFlag {
  kind: 'switch'
  summary: string
  /** An optional value behind it. */
  value?: string
  /** One letter that stands for it. */
  short?: string
}
interface ChoiceFlag {
  kind: 'choice'
  summary: string
  choices: readonly string[]
}

export type Args = Readonly<Record<string, Arg>>
export type Flags = Readonly<Record<string, Flag>>

export type ArgValues<A extends Args> = {
  [K in keyof A]: A[K] extends { many: true } ? string[] : A[K] extends { optional: true } ? string | undefined : string
}
export type FlagValues<F extends Flags> = {
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

/** `nothing` speaks to no server, `host` needs one, `project` needs a project on it. It decides which global flags there are. */
export type Scope = 'nothing' | 'host' | 'project'

export interface Command<A extends Args = Args, F extends Flags = Flags> {
  summary: string
  /** More than the summary says, one paragraph each. */
  about?: readonly string[]
  scope: Scope
  args: A
  flags: F
  examples: readonly string[]
  run(ctx: Context, input: { args: ArgValues<A>; flags: FlagValues<F> }): Promise<void>
}

/** A command whose types are forgotten: what the catalogue holds. */
export type AnyCommand = Omit<Command, 'run'> & {
  run(ctx: Context, input: { args: never; flags: never }): Promise<void>
}

export function command<const A extends Args, const F extends Flags>(definition: Command<A, F>): AnyCommand {
  return definition as unknown as AnyCommand
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
    summary: 'Print one JSON document, or only these fields of it; errors are JSON on stderr',
    value: 'field,…',
  },
  jq: { kind: 'text', summary: 'Print what this jq expression makes of the JSON', value: 'expression' },
  template: { kind: 'text', summary: "Print this for each item, as '#{number} {title}'", value: 'text' },
  'no-color': { kind: 'switch', summary: 'No colour (as NO_COLOR)' },
  help: { kind: 'switch', summary: 'Show this help', short: 'h' },
}
const hostFlag: Flags = { host: { kind: 'text', summary: 'Use this host once', value: 'name', names: 'host' } }
const projectFlag: Flags = {
  project: { kind: 'text', summary: 'Use this project once', value: 'id|slug', names: 'project', short: 'R' },
}

export function globalFlags(scope: Scope): Flags {
  if (scope === 'nothing') return everywhere
  return scope === 'host' ? { ...hostFlag, ...everywhere } : { ...projectFlag, ...hostFlag, ...everywhere }
}
