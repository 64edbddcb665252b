import { command } from '../../../arguments/command.ts'
import { UsageError } from '../../../errors.ts'
import { bold } from '../../../terminal/output.ts'
import { watchStart } from '../../../conversation/start-phases.ts'
import { sessionAt } from '../find.ts'
import { sessionArg, shortId } from '../labels.ts'

export const restart = command({
  summary: 'Restart a session from its branch in a new sandbox',
  scope: 'project',
  args: { id: sessionArg },
  flags: {
    agent: { kind: 'text', summary: 'Agent to use from now on (default: the same)', value: 'name' },
    wait: { kind: 'switch', summary: 'Wait until it runs (default on a terminal)' },
    'no-wait': { kind: 'switch', summary: 'Do not wait' },
  },
  examples: ['svc sessions restart 8f3a1c20', 'svc sessions restart 8f3a1c20 --agent plan --wait'],
  async run(ctx, { args, flags }) {
    if (flags.wait && flags['no-wait']) throw new UsageError("--wait and --no-wait can't be combined")
    const at = await sessionAt(ctx, args.id)
    let session = await at.post('/restart', { body: flags.agent === undefined ? undefined : { agent: flags.agent } })
    const { out } = ctx
    if (flags.wait || (out.terminal && !flags['no-wait'])) session = await watchStart(ctx, at)
    out.done(session, 'Restarted ', bold(session.name), `  ${shortId(session.session_id, out.terminal)}`)
  },
})
