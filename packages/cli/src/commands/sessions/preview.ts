import { command } from '../../arguments/command.ts'
import { UsageError } from '../../errors.ts'
import { sessionAt } from './find.ts'
import { sessionArg } from './labels.ts'

export const preview = command({
  summary: "Print the preview URL of a session's port",
  about: [
    'The URL works once: the first browser that opens it stays signed in to this port. Run the command again for another browser.',
  ],
  scope: 'project',
  args: { id: sessionArg, port: { summary: 'Port inside the sandbox (default: 3000)', optional: true } },
  examples: ['svc sessions preview 8f3a1c20', 'svc sessions preview 8f3a1c20 5173'],
  async run(ctx, { args }) {
    const port = args.port ?? '3000'
    if (!/^[1-9][0-9]{0,4}$/.test(port) || Number(port) > 65_535)
      throw new UsageError(`${JSON.stringify(port)} is not a port`, { next: [`svc sessions preview ${args.id} 3000`] })
    const at = await sessionAt(ctx, args.id)
    const { url } = await at.get('/preview', { query: { port: Number(port) } })
    if (ctx.out.json) return ctx.out.document({ url, port: Number(port), session_id: at.id })
    ctx.out.line(url)
    ctx.out.note('It works once, in the first browser that opens it.')
  },
})
