/** Runs the server's program for a command about backups, and shows how far it is. */
import type { Context } from '../context.ts'
import { askServerProgram } from './ask-program.ts'
import { serverEnvironment } from './environment.ts'
import { withKeyFileOfServer } from './server-key-file.ts'

export async function askWithProgress<T>(
  ctx: Context,
  flag: '--backup' | '--restore' | '--check' | '--list-backups' | '--remove-backups',
  { input, otherwise }: { input: object; otherwise: string },
): Promise<T> {
  const { out } = ctx
  out.passing('Starting')
  try {
    const env = await serverEnvironment(ctx)
    return await askServerProgram<T>(ctx, flag, {
      env: flag === '--backup' || flag === '--check' ? await withKeyFileOfServer(env) : env,
      ...{ ms: 0, otherwise, input: JSON.stringify(input), isTied: true },
      onLine: (line) => out.passing(progressIn(line)),
    })
  } finally {
    out.clearPassing()
  }
}

const phases = {
  ...{ waiting: 'Waiting', database: 'Database', repositories: 'Repositories' },
  ...{ verifying: 'Verifying', checking: 'Checking' },
} as const

function progressIn(line: string): string {
  // Another line is a warning or the error, which is shown at the end.
  if (!line.startsWith('{"phase"')) return 'Ending'
  const at = JSON.parse(line) as { phase: keyof typeof phases; name: string; done: number; of: number }
  if (at.phase === 'waiting') return `${phases.waiting} ${at.name}`
  return `${phases[at.phase]}: ${at.name} (${at.done + 1} of ${at.of})`
}
