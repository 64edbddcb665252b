/** The client that a server installs is the same program without PostgreSQL and the agent runtime, which a server needs. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Context } from '../context.ts'
import { Refusal } from '../errors.ts'
import { askServer } from './ask-owner-link.ts'
import { leftServer, runningServer } from './state.ts'

const runtimes = ['/usr/local/bin/opencode', '/usr/bin/opencode']

/** `install.sh` writes that file. With an agent runtime of the machine, the program can be a server all the same. */
export function isClientAlone(program: string, machine: string[] = runtimes): boolean {
  const beside = (name: string) => existsSync(join(program, '../..', name))
  return beside('install.json') && !beside('node_modules') && !machine.some((path) => existsSync(path))
}

/** Throws for the installed client, which would fail later with an error that leads elsewhere. */
export async function requireServerProgram(ctx: Context, program: string = process.execPath): Promise<void> {
  if (!isClientAlone(program)) return
  const server = (await runningServer(ctx)) ?? (await leftServer(ctx)) ?? (await askServer(ctx))
  const known: string | undefined = server !== null && 'program' in server ? (server.program ?? undefined) : undefined
  const where = known === undefined || known === program ? 'dist/svc, or svc-server/bin/svc of its archive' : known
  throw new Refusal(
    'not_available',
    `This program, ${program}, is the client: it comes without PostgreSQL and the agent runtime.`,
    {
      hint: `Run this command with the program of the server: ${where}. Commands that use a running server, such as svc self-host servers, work with the client.`,
    },
  )
}
