import { command } from '../../arguments/command.ts'
import { UsageError } from '../../errors.ts'
import { bold } from '../../terminal/output.ts'
import { valueOrStdin } from '../../terminal/read-stdin.ts'

export const set = command({
  summary: 'Set the model server of the agents (for owners of this server)',
  about: [
    'The server tests it with one request before saving. Every server on the same database uses it at once. Without --key, keeps the saved key if the URL is the same. Environment variables of the server take precedence.',
  ],
  scope: 'host',
  args: { url: { summary: 'Base URL of the API, usually ending in /v1' } },
  flags: {
    model: { kind: 'text', summary: 'Models, separated by commas; the first is the default', value: 'name' },
    key: { kind: 'text', summary: 'API key; - reads stdin', value: 'key' },
    anthropic: { kind: 'switch', summary: 'Use the Anthropic API instead of the OpenAI API' },
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
      key,
    }
    const saved = await (await ctx.api()).put('/v1/models/upstream', { body })
    ctx.out.done(saved, 'Agents use ', bold(models[0]!), ` at ${saved.url}`)
    ctx.out.note(ctx.next('svc models ls'))
  },
})
