import { command } from '../../arguments/command.ts'
import { bold } from '../../terminal/output.ts'
import { sessionAt } from './find.ts'
import { sessionArg, shortId } from './labels.ts'

export const rename = command({
  summary: 'Rename a session',
  scope: 'project',
  args: { id: sessionArg, name: { summary: 'New name' } },
  examples: ['svc sessions rename 8f3a1c20 "Parser tests"', 'svc sessions rename 8f3a1c20 spike --json'],
  async run(ctx, { args }) {
    const at = await sessionAt(ctx, args.id)
    const session = await at.patch('', { body: { name: args.name } })
    ctx.out.done(session, 'Renamed to ', bold(session.name), `  ${shortId(session.session_id, ctx.out.terminal)}`)
  },
})
