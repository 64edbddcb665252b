import { command } from '../../command.ts'
import { UsageError } from '../../errors.ts'
import { valueOrStdin } from '../../read-stdin.ts'
import { watchStart } from '../../start-phases.ts'
import { printSession } from './info.ts'
import { sessionColumns } from './ls.ts'
import { startSession } from './start.ts'
import { shortId } from './words.ts'

export const newSession = command({
  summary: 'Start a session on a branch of its own',
  about: ['On a terminal it shows the start until the session runs; in a pipe it answers at once, and --wait waits.'],
  scope: 'project',
  args: {},
  flags: {
    prompt: { kind: 'text', summary: 'What the agent should do first; - reads stdin', value: 'text' },
    name: { kind: 'text', summary: 'What to call it', value: 'text' },
    agent: { kind: 'text', summary: 'Which agent of the project', value: 'name' },
    base: { kind: 'text', summary: 'Branch to start from (default: the default branch)', value: 'ref' },
    model: {
      kind: 'text',
      summary: 'One of svc models ls (default: the choice of the agent or project)',
      value: 'name',
      names: 'model',
    },
    wait: { kind: 'switch', summary: 'Wait until it runs' },
    'no-wait': { kind: 'switch', summary: 'Do not wait' },
  },
  examples: [
    'svc sessions new --prompt "Fix the failing test"',
    'svc sessions new --name spike --base develop --no-wait',
  ],
  async run(ctx, { flags }) {
    if (flags.wait && flags['no-wait']) throw new UsageError('--wait and --no-wait exclude each other')
    const { out } = ctx
    const wait = flags.wait || (out.terminal && !flags['no-wait'])
    const prompt = flags.prompt === undefined ? undefined : await valueOrStdin(ctx.io, flags.prompt, 'the prompt')
    const { api, projectId } = await ctx.project()
    let session = await startSession(ctx, api, projectId, {
      ...(prompt === undefined ? {} : { initial_prompt: prompt }),
      ...(flags.name === undefined ? {} : { name: flags.name }),
      ...(flags.agent === undefined ? {} : { agent_name: flags.agent }),
      ...(flags.base === undefined ? {} : { base_ref: flags.base }),
      ...(flags.model === undefined ? {} : { model: flags.model }),
    })
    if (wait) session = await watchStart(ctx, api, session)
    if (out.json) return out.document(session)
    if (!out.terminal) out.table([session], sessionColumns(ctx))
    else {
      out.line()
      printSession(ctx, session)
    }
    const id = shortId(session.session_id, true)
    out.note([`svc sessions chat ${id}`, `svc sessions info ${id}`, 'svc cr ls'].map(ctx.next).join(' · '))
  },
})
