import { ServiceError } from '@svc/contract/errors'
import { lossOfTerminal, terminalCommandCharsMax, terminalRoute } from '@svc/contract/daemon/terminal'
import { command } from '../../arguments/command.ts'
import type { Context } from '../../context.ts'
import { ProgramEnded, Refusal, UsageError } from '../../errors.ts'
import { tokenFor } from '../../config/hosts.ts'
import { bold } from '../../terminal/output.ts'
import { joinTerminal } from '../../terminal/remote-terminal.ts'
import { quote } from '../../arguments/shell-word.ts'
import { watchStart } from '../../conversation/start-phases.ts'
import { sessionAt } from './find.ts'
import { isStarting, sessionArg, shortId } from './labels.ts'
import type { Client, SessionClient } from '../../requests.ts'

export const shell = command({
  summary: 'Open a terminal in the sandbox of a session',
  about: [
    "Runs as the agent's user in the same work tree, and exits with the exit code of the shell. Enter ~ . leaves a hung connection.",
    'A command after -- runs instead of the shell; a single word is a shell command line.',
    'As with ssh, programs there control your terminal.',
  ],
  scope: 'project',
  args: { id: sessionArg, command: { summary: 'Command to run instead of the shell', optional: true, many: true } },
  examples: ['svc sessions shell 8f3a1c20', 'svc sessions shell 8f3a1c20 -- git log --oneline'],
  async run(ctx, { args }) {
    const { io, out } = ctx
    if (!ctx.interactive || !io.stdout.isTTY)
      throw new UsageError('A shell needs a terminal', {
        hint: 'In a script, let the agent run commands instead.',
        next: [`svc sessions chat ${quote(args.id)} --prompt "<text>"`],
      })
    const line = args.command?.length === 1 ? args.command[0]! : (args.command ?? []).map(quote).join(' ')
    if (line.length > terminalCommandCharsMax)
      throw new UsageError(`The command is longer than ${terminalCommandCharsMax} characters`, {
        hint: 'Put it into a file in the work tree, and run that.',
      })
    const at = await sessionAt(ctx, args.id)
    const found = await at.get('')
    const session = isStarting(found) ? await watchStart(ctx, at) : found
    if (session.status !== 'running')
      throw new Refusal('session_stopped', `The session is ${session.status}, so it has no sandbox to open`, {
        detail: { session_id: at.id, status: session.status },
        next: [`svc sessions restart ${shortId(at.id, true)}`],
      })
    if (line === '') out.note('Terminal of ', bold(session.name), '. exit ends it; Enter ~ . leaves a hung connection.')
    await openShell(ctx, at, { line, generation: session.sandbox?.generation ?? 0 })
  },
})

async function openShell(
  ctx: Context,
  at: SessionClient,
  { line, generation }: { line: string; generation: number },
): Promise<void> {
  const { io, out } = ctx
  const host = await ctx.host()
  const path = terminalRoute.replace(':projectId', await ctx.projectId()).replace(':sessionId', at.id)
  const url = new URL(`${host.base.replace(/^http/, 'ws')}${path}`)
  if (line !== '') url.searchParams.set('command', line)
  const token = tokenFor(host, { env: io.env, config: await ctx.config() })
  const end = await joinTerminal(io, url, { Authorization: `Bearer ${token}` })
  const next = [`svc sessions info ${shortId(at.id, true)}`]
  switch (end.kind) {
    case 'ended':
      if (end.code === null) throw new Refusal('session_stopped', end.reason, { next })
      if (end.code !== 0) throw new ProgramEnded(end.code)
      return
    case 'left':
      out.note('Left.')
      throw new ProgramEnded(1)
    case 'refused':
      throw await whyRefused(at.project.api, path)
    case 'invalid':
      throw new Refusal('unreachable', 'The sandbox sent an invalid terminal message, so the connection was closed', {
        hint: 'A proxy may have changed it, or the sandbox has another version: restart the session.',
        next,
      })
    case 'broken':
      throw await whyBroken(ctx, at, generation)
    default:
      throw end satisfies never
  }
}

const lookEveryMs = 250
/** The end of a sandbox is recorded some moments after its connections broke. */
const looksMax = 20

/** The connection has no room for a reason, so the session says it. */
async function whyBroken({ io }: Context, at: SessionClient, generation: number): Promise<Refusal> {
  const id = shortId(at.id, true)
  for (let looks = 1; ; looks++) {
    const session = await at.get('').catch((error: Error) => error)
    if (session instanceof Error)
      return new Refusal('unreachable', 'The connection to the sandbox ended', {
        hint: session.message,
        next: [`svc sessions info ${id}`],
        cause: session,
      })
    const { kind, says, why } = lossOfTerminal(generation, session)
    const next = [kind === 'over' ? `svc sessions restart ${id}` : `svc sessions shell ${id}`]
    if (kind !== 'unknown') return new Refusal('session_stopped', says, { hint: why, next })
    if (looks >= looksMax) return new Refusal('unreachable', says, { hint: why, next })
    await io.sleep(lookEveryMs)
  }
}

/** WebSocket hides the HTTP response, so this repeats the request without an upgrade. */
async function whyRefused(api: Client, path: string): Promise<Error> {
  const upgrade = {
    Connection: 'Upgrade',
    Upgrade: 'websocket',
    'Sec-WebSocket-Version': '13',
    'Sec-WebSocket-Key': btoa('svc sessions shell'.slice(0, 16)),
  }
  try {
    await api.route('GET', path, { headers: upgrade })
  } catch (error) {
    if (error instanceof ServiceError || error instanceof Refusal) return error
  }
  return new Refusal('unreachable', 'The terminal could not be opened', { hint: 'Try again.' })
}
