import { reply } from '../../api.ts'
import { command } from '../../command.ts'
import { UsageError } from '../../errors.ts'
import { bold, green } from '../../output.ts'
import { valueOrStdin } from '../../read-stdin.ts'

export const set = command({
  summary: 'Set the model server that agents use, for owners of this server',
  about: [
    'The server sends one request to it before anything is saved. Every server of the same database follows at once. Without --key the saved key stays while the URL does. What the environment of the server sets wins.',
  ],
  scope: 'host',
  args: { url: { summary: 'Base URL of its API, usually ending in /v1' } },
  flags: {
    model: { kind: 'text', summary: 'Its models, separated by commas; the first is the default', value: 'name' },
    key: { kind: 'text', summary: 'Its API key; - reads stdin', value: 'key' },
    anthropic: { kind: 'switch', summary: 'It speaks the API of Anthropic, not that of OpenAI' },
  },
  examples: [
    'svc models set https://models.example/v1 --model large,small --key -',
    'svc models set http://127.0.0.1:11434/v1 --model local-model',
  ],
  async run(ctx, { args, flags }) {
    const models = (flags.model ?? '')
      .split(',')
      .map((each) => each.trim())
      .filter(Boolean)
    if (models.length === 0)
      throw new UsageError('Missing --model', { next: [`svc models set ${args.url} --model <name> --key -`] })
    const key = flags.key === undefined ? undefined : await valueOrStdin(ctx.io, flags.key, 'the API key')
    const body = {
      url: args.url,
      shape: flags.anthropic ? ('anthropic' as const) : ('openai' as const),
      models,
      ...(key === undefined ? {} : { key }),
    }
    const saved = await reply((await ctx.api()).PUT('/v1/models/upstream', { body }))
    const { out } = ctx
    if (out.json) return out.document(saved)
    out.line(green('✓ '), 'Agents use ', bold(models[0]!), ` at ${saved.url}`)
    out.note(ctx.next('svc models ls'))
  },
})
