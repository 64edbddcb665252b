import { command } from '../arguments/command.ts'
import { UsageError } from '../errors.ts'
import { bold } from '../terminal/output.ts'
import { valueOrStdin } from '../terminal/read-stdin.ts'
import { confirm } from '../terminal/ask.ts'

export const ls = command({
  summary: 'List the models that sessions, agents and triggers can choose',
  scope: 'host',
  examples: ['svc models ls', 'svc sessions new --model <name> --prompt "Fix the failing test"'],
  async run({ out, api, next }) {
    const found = await api.get('/v1/models')
    if (out.json) return out.document(found)
    out.table(found.models, [
      { title: 'MODEL', of: (model) => model.id, shrink: true },
      { title: 'DEFAULT', of: (model) => (model.default ? 'yes' : '') },
    ])
    if (found.models.length > 0) return
    out.note(`An owner of the server can set one: ${next('svc models set --help')}`)
    out.note(`To try without one: ${next("svc sessions new --model svc-scripted-demo --prompt 'Show me'")}`)
  },
})

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
  async run({ io, out, api, next }, { args, flags }) {
    const models = (flags.model ?? '')
      .split(',')
      .map((each) => each.trim())
      .filter(Boolean)
    if (models.length === 0)
      throw new UsageError('Missing --model', { next: [`svc models set ${args.url} --model <name> --key -`] })
    const key = flags.key === undefined ? undefined : await valueOrStdin(io, flags.key, 'the API key')
    const body = {
      url: args.url,
      shape: flags.anthropic ? ('anthropic' as const) : ('openai' as const),
      models,
      key,
    }
    const saved = await api.put('/v1/models/upstream', { body })
    out.done(saved, 'Agents use ', bold(models[0]!), ` at ${saved.url}`)
    out.note(next('svc models ls'))
  },
})

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
    const done = await ctx.api.delete('/v1/models/upstream')
    ctx.out.done(done, 'The model server is removed')
  },
})
