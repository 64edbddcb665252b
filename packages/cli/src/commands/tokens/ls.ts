import { command } from '../../arguments/command.ts'
import { dim, green } from '../../terminal/output.ts'
import { allTokens, projectFlag, projectOf } from './find.ts'

export const ls = command({
  summary: 'List your tokens or those of a project, without their values',
  scope: 'host',
  flags: { project: projectFlag },
  examples: ['svc tokens ls', 'svc tokens ls --project my-app --json'],
  async run({ out, api }, { flags }) {
    const tokens = await allTokens(api, await projectOf(api, flags.project))
    if (out.json) return out.document(tokens)
    if (tokens.length === 0) return out.note('No tokens yet. Create one: svc tokens create --name <text>')
    const { token_id: inUse } = await api.get('/v1/token')
    out.table(tokens, [
      { title: '', of: (token) => (token.token_id === inUse ? green('*') : '') },
      { title: 'ID', of: (token) => (out.terminal ? token.token_id.slice(0, 8) : token.token_id) },
      { title: 'NAME', of: (token) => token.name, shrink: true },
      ...(flags.project === undefined
        ? []
        : [{ title: 'SESSION', of: ({ session_id: id }: (typeof tokens)[number]) => id?.slice(0, 8) ?? '' }]),
      { title: 'CREATED', of: (token) => out.time(token.created_at) },
      { title: 'USED', of: (token) => (token.last_used_at === null ? dim('never') : out.time(token.last_used_at)) },
      { title: 'EXPIRES', of: (token) => token.expires_at ?? dim('never') },
    ])
  },
})
