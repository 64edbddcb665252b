import { confirm } from '../../terminal/ask.ts'
import { command } from '../../arguments/command.ts'

export const rm = command({
  summary: 'Remove the saved model server and its key (for owners of this server)',
  scope: 'host',
  flags: { yes: { kind: 'switch', summary: 'Do not ask' } },
  examples: ['svc models rm', 'svc models rm --yes'],
  async run(ctx, { flags }) {
    await confirm(ctx, {
      question: 'Remove the model server? Agents of every project stop working until another one is set.',
      yes: flags.yes,
      corrected: 'svc models rm --yes',
    })
    const done = await (await ctx.api()).delete('/v1/models/upstream')
    ctx.out.done(done, 'The model server is removed')
  },
})
