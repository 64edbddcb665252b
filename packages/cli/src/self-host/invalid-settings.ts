/** Finds settings that the server would refuse, by its own rules. */
import type { DoctorFinding, SettingsProblem, SettingsToExamine } from '@svc/contract/daemon/owner-socket'
import type { Context } from '../context.ts'
import { Refusal } from '../errors.ts'
import { serverEnvironment } from './environment.ts'
import { runServerProgram } from './run-program.ts'
import { assignment, readSettings, settings } from './settings.ts'
import { selfHostFile } from './self-host-file.ts'

type Environment = Record<string, string>

const examineMs = 60_000

/** The problems of each environment. */
export async function examineSettings(
  ctx: Context,
  environments: Environment[],
  { followLinks = false } = {},
): Promise<SettingsProblem[][]> {
  const input: SettingsToExamine = { settings: environments, follow_links: followLinks }
  const shell = Object.entries(ctx.io.env).filter((entry): entry is [string, string] => entry[1] !== undefined)
  const { problems } = await runServerProgram<{ problems: SettingsProblem[][] }>('--examine-settings', {
    ...{ ms: examineMs, otherwise: 'The settings could not be checked.' },
    ...{ env: Object.fromEntries(shell), input: JSON.stringify(input) },
  })
  return problems
}

/** The settings file with these changes, above the variables of this shell: what the file would do. */
export function withSaved(ctx: Context, saved: Readonly<Record<string, string | null>>): Environment {
  const given = Object.entries({ ...ctx.io.env, ...saved })
  return Object.fromEntries(given.filter((entry): entry is [string, string] => entry[1] != null))
}

/** The error of a server program, or the one that says which settings are to blame. */
export async function insteadOfSettings(ctx: Context, error: unknown, env: Environment): Promise<unknown> {
  const [problems = []] = await examineSettings(ctx, [env]).catch(notExamined)
  return problems.length === 0 ? error : await invalidSettings(ctx, { problems, env, cause: error })
}

/** The next `svc self-host start` fails because of these. */
export async function problemsOfNextStart(ctx: Context): Promise<SettingsProblem[]> {
  const [problems = []] = await examineSettings(ctx, [await serverEnvironment(ctx)]).catch(notExamined)
  return problems
}

/** For commands that go on all the same. Shown by `status`, `start` and `upgrade`. */
export async function warnOfInvalid(ctx: Context, problems: SettingsProblem[]): Promise<void> {
  if (problems.length === 0) return
  const { message, lines, hint, next } = await invalidSettings(ctx, { problems, env: await serverEnvironment(ctx) })
  ctx.out.warn(`The next start fails. ${message}`)
  for (const line of lines) ctx.out.note(`  ${line}`)
  ctx.out.note(`${hint} To change that: ${next.join(' · ')}`)
}

interface Readable {
  ctx: Context
  broken: Refusal | null
}

/** The context skips the lines of the settings file that cannot be parsed, if there are any. `broken` names the first. */
export async function withoutBrokenLines(ctx: Context): Promise<Readable> {
  try {
    await readSettings(ctx)
    return { ctx, broken: null }
  } catch (error) {
    if (!(error instanceof Refusal) || error.detail.line === undefined) throw error
    return { ctx: { ...ctx, skipsBrokenLines: true }, broken: error }
  }
}

export function warnOfBroken({ out }: Context, broken: Refusal | null): void {
  if (broken === null) return
  out.warn(`The next start fails. ${broken.message}`)
  if (broken.hint !== null) out.note(broken.hint)
}

export function findingOfBroken({ message, hint }: Refusal): DoctorFinding {
  return { name: 'self-host.env', state: 'missing', says: `The next start fails: ${message}`, mend: hint }
}

/** A finding of the doctor for each invalid setting, and the settings without them. Null for another error. */
export async function withoutInvalid(
  ctx: Context,
  error: unknown,
): Promise<{ findings: DoctorFinding[]; env: Environment } | null> {
  if (!(error instanceof Refusal) || error.code !== 'config_broken') return null
  const env = await serverEnvironment(ctx)
  const problems = (error.detail.problems ?? []) as SettingsProblem[]
  const findings = problems.map(async (problem): Promise<DoctorFinding> => {
    const { hint, next } = await invalidSettings(ctx, { problems: [problem], env })
    const name = problem.names.join(', ')
    return {
      name,
      state: 'missing',
      says: `The next start fails: ${problem.says}`,
      mend: `${hint} ${next.join(' · ')}`,
    }
  })
  const names = problems.flatMap((problem) => problem.names)
  const rest = Object.entries(env).filter(([name]) => !names.includes(name))
  return { findings: await Promise.all(findings), env: Object.fromEntries(rest) }
}

/** The first error says more than that of a program that can't be run either. */
function notExamined(): SettingsProblem[][] {
  return []
}

interface Invalid {
  problems: readonly SettingsProblem[]
  env: Environment
  cause?: unknown
}

async function invalidSettings(ctx: Context, { problems, env, cause }: Invalid): Promise<Refusal> {
  const saved = (await readSettings(ctx)) ?? {}
  const path = selfHostFile(ctx, 'env')
  const named = [...new Set(problems.flatMap(({ names }) => names))].filter((name) => env[name])
  const inFile = named.filter((name) => saved[name] === env[name])
  const inShell = named.filter((name) => !inFile.includes(name))
  // A value in the shell comes before a saved one.
  const toSet = Object.fromEntries(
    Object.entries(corrections(problems, env)).filter(([name]) => !inShell.includes(name)),
  )
  const [first] = problems
  const lines = problems.length === 1 ? [] : problems.map(({ says }) => says)
  const what = inFile.length > 0 ? 'A saved setting is invalid' : 'A setting of this shell is invalid'
  return new Refusal('config_broken', problems.length === 1 ? `${what}: ${first!.says}` : 'Settings are invalid', {
    ...{ lines, cause },
    hint: [
      inFile.length > 0 ? `${inFile.join(', ')} ${inFile.length === 1 ? 'is' : 'are'} saved in ${path}.` : null,
      inShell.length > 0 ? `${inShell.join(', ')} ${inShell.length === 1 ? 'is' : 'are'} set in this shell.` : null,
    ]
      .filter((each) => each !== null)
      .join(' '),
    next: [
      ...(Object.keys(toSet).length > 0 ? [setCommand(toSet)] : []),
      ...(inFile.length > 0 ? [`svc self-host env unset ${inFile.join(' ')}`] : []),
      ...(inShell.length > 0 ? [`unset ${inShell.join(' ')}`] : []),
    ],
    detail: { path, problems },
  })
}

/** The settings that a value solves, with one that the server accepts. */
export function corrections(
  problems: readonly SettingsProblem[],
  env: Readonly<Record<string, string>>,
): Record<string, string> {
  const found = problems.flatMap(({ names, values }) =>
    (names.length === 1 ? names : names.filter((name) => !env[name])).map((name) => [
      name,
      values?.[name] ?? settings[name]?.example ?? '',
    ]),
  )
  return Object.fromEntries(found)
}

export function setCommand(values: Readonly<Record<string, string>>): string {
  const words = Object.entries(values).map(([name, value]) => assignment(name, value))
  return `svc self-host env set ${words.join(' ')}`
}
