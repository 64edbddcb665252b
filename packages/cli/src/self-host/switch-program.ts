/** Puts this program in the place of the running one. */
import { stat } from 'node:fs/promises'
import type { Context } from '../context.ts'
import { Refusal } from '../errors.ts'
import { logOf } from './environment.ts'
import { serverCommand, startServer, withThisProgram, withStartLock } from './launch.ts'
import { lastLines } from './log-lines.ts'
import type { Upgrade } from './plan-upgrade.ts'
import { runningServer, type ServerState, type ServingServer } from './state.ts'
import { untilStopped } from './until-stopped.ts'

const linesShown = 10

type Switch = Upgrade & { server: ServerState }

/** Stops the server and starts this program with the same settings, or else the earlier program again. */
export function switchProgram(ctx: Context, upgrade: Switch): Promise<ServingServer> {
  return withStartLock(ctx, async () => {
    const { plan, server, running } = upgrade
    if ((await runningServer(ctx))?.pid !== server.pid)
      throw new Refusal('not_available', `Process ${server.pid} is no longer the server`, {
        hint: 'It was stopped or restarted meanwhile.',
        next: ['svc self-host status'],
      })
    const release = holdOn(ctx)
    try {
      process.kill(server.pid, 'SIGTERM')
      await untilStopped(ctx, server, {
        goOn: plan.sandboxes?.outlive === true,
        advice: ` No server starts now. Once it has ended: ${withThisProgram(ctx, 'svc self-host start')}`,
      })
      const from = (await stat(logOf(running.env)).catch(() => null))?.size ?? 0
      try {
        return (await startServer(ctx, { command: serverCommand(), env: running.env })).state
      } catch (error) {
        const lines = await lastLines(logOf(running.env), { from, count: linesShown })
        // The reason is shown already.
        const others = lines.filter((line) => line !== `svc server: ${messageOf(error)}`)
        throw await goBack(ctx, upgrade, { error, lines: others })
      }
    } finally {
      release()
    }
  })
}

/** No signal that it can take, such as of a terminal that closes, may leave the machine without a server. */
function holdOn(ctx: Context): () => void {
  const release = ctx.io.onInterrupt(() => ctx.out.note('The server is being replaced; this takes some seconds.'))
  for (const signal of ends) process.on(signal, goOn)
  return () => {
    release()
    for (const signal of ends) process.off(signal, goOn)
  }
}

const ends = ['SIGHUP', 'SIGTERM'] as const

function goOn(): void {}

/** Resolves with the error that says what runs now. */
async function goBack(
  ctx: Context,
  { plan, running }: Switch,
  { error, lines }: { error: unknown; lines: string[] },
): Promise<Refusal> {
  const earlier = plan.from.version ?? 'the earlier version'
  const because = (hint: string, detail: object, next: string[]) =>
    new Refusal('not_available', `svc ${plan.to.version} did not start: ${messageOf(error)}`, {
      ...{ hint, lines, next, cause: error },
      detail: { upgraded: false, log: lines, ...detail },
    })
  const orRestore = plan.migrations === 0 ? '' : ', or restore the data folder from before the upgrade to go back'
  const start = withThisProgram(ctx, 'svc self-host start')
  const withoutServer = `No server is running; agents go on for SVC_SANDBOX_LEASE_SECONDS. Fix the problem and start this program${orRestore}.`
  if (!running.isInPlace)
    return because(
      `${running.command[0]} is not the program that ran, so ${earlier} can't be started again. ${withoutServer}`,
      { server: null },
      [start],
    )
  try {
    // An earlier program refuses a database that a later one migrated, before it changes anything.
    const { state } = await startServer(ctx, { command: running.command, env: running.env })
    return because(`svc ${earlier} is running again (process ${state.pid}), and agents go on.`, { server: state }, [
      'svc self-host logs',
    ])
  } catch (second) {
    return because(`svc ${earlier} does not start either: ${messageOf(second)} ${withoutServer}`, { server: null }, [
      start,
    ])
  }
}

const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error))
