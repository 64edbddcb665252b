/** Runs commands of the server's own program, which knows its settings and its data. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { Context } from '../context.ts'
import { Refusal } from '../errors.ts'
import { reasonIn, serverCommand, serverEnvironment } from './launch.ts'

const run = promisify(execFile)

/** The JSON document it prints, or its error; `otherwise` is the message when it prints neither. */
export async function askServerProgram<T>(
  ctx: Context,
  flag: '--doctor' | '--end-sandboxes' | '--examine-upgrade' | '--rotate-key' | '--sandbox-image',
  { ms, otherwise, env, more = [] }: { ms: number; otherwise: string; env?: Record<string, string>; more?: string[] },
): Promise<T> {
  const [program, ...args] = serverCommand()
  try {
    const given = { env: env ?? (await serverEnvironment(ctx)), timeout: ms }
    const { stdout } = await run(program, [...args, flag, ...more], given)
    return JSON.parse(stdout) as T
  } catch (error) {
    if (error instanceof Refusal) throw error
    const said = String((error as { stderr?: string }).stderr ?? '').trim()
    throw new Refusal('not_available', reasonIn(said) ?? (said || otherwise), { cause: error })
  }
}
