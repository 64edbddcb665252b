import { command } from '../../arguments/command.ts'
import { Refusal } from '../../errors.ts'
import { askServer } from '../../self-host/ask-owner-link.ts'
import { forgetServer, runningServer } from '../../self-host/state.ts'

/** The server drains within ten seconds; the database takes a moment more. */
const patienceMs = 30_000

export const stop = command({
  summary: 'Stop the server that svc self-host started',
  about: ['Its sessions stop, too; svc sessions restart continues one. Removes nothing.'],
  scope: 'nothing',
  examples: ['svc self-host stop', 'svc self-host stop --json'],
  async run(ctx) {
    const { io, out } = ctx
    const server = await runningServer(ctx)
    if (server === null) {
      await forgetServer(ctx)
      const other = await askServer(ctx)
      if (out.json) return out.document({ stopped: false, pid: other?.pid ?? null })
      if (other !== null)
        return out.note(`Process ${other.pid} serves ${other.url}. Another program started it: stop it there.`)
      return out.note('No server started by svc self-host start is running.')
    }
    process.kill(server.pid, 'SIGTERM')
    const began = io.now()
    while ((await runningServer(ctx)) !== null) {
      if (io.now() - began > patienceMs)
        throw new Refusal('timed_out', `Process ${server.pid} is still stopping after ${patienceMs / 1000} s`, {
          hint: `Its log is ${server.log}.`,
          next: ['svc self-host logs', 'svc self-host status'],
        })
      out.passing('stopping requests and sandboxes…')
      await io.sleep(100)
    }
    await forgetServer(ctx)
    out.done({ stopped: true, pid: server.pid }, `Stopped (process ${server.pid})`)
  },
})
