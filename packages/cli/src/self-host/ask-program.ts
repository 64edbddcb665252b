/** Runs commands of the server's own program with the settings of this machine's server. */
import { withCommands } from '@svc/contract/shell-words'
import type { Context } from '../context.ts'
import { Refusal } from '../errors.ts'
import { insteadOfSettings } from './invalid-settings.ts'
import { serverEnvironment } from './environment.ts'
import { requireServerProgram } from './require-server.ts'
import { type Asked, type ProgramFlag, runServerProgram } from './run-program.ts'

/** The JSON document it prints, or its error. An error that comes from a saved setting names the file and the fix. */
export async function askServerProgram<T>(
  ctx: Context,
  flag: ProgramFlag,
  { env, ...asked }: Omit<Asked, 'env'> & { env?: Record<string, string> },
): Promise<T> {
  await requireServerProgram(ctx)
  const given = env ?? (await serverEnvironment(ctx))
  try {
    return await runServerProgram<T>(flag, { ...asked, env: given })
  } catch (error) {
    throw await insteadOfSettings(ctx, ofThisShell(ctx, error), given)
  }
}

function ofThisShell({ next }: Context, error: unknown): unknown {
  if (error instanceof Refusal) error.message = withCommands(error.message, next)
  return error
}
