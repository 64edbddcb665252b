import type { Prompt } from '@svc/sdk'
import { command } from '../../../arguments/command.ts'
import { findOne } from '../../../arguments/find-one.ts'
import { Refusal } from '../../../errors.ts'
import { allPages } from '../../../pages.ts'
import type { SessionClient } from '../../../requests.ts'
import { bold, dim, green } from '../../../terminal/output.ts'
import { sessionAt } from '../find.ts'
import { sessionArg, shortId } from '../labels.ts'

export const queue = command({
  summary: 'List the prompts that wait for the agent of a session, next one first',
  about: ['A prompt waits while the session starts, while its agent wakes, and until the current turn ends.'],
  scope: 'project',
  args: { id: sessionArg },
  examples: ['svc sessions queue 8f3a1c20', 'svc sessions queue 8f3a1c20 --json'],
  async run({ out, next, ...ctx }, { args }) {
    const at = await sessionAt({ out, next, ...ctx }, args.id)
    const prompts = await waitingPrompts(at)
    if (out.json) return out.document({ prompts })
    if (prompts.length === 0) return out.note('No prompt waits.')
    if (!out.terminal)
      return out.table(prompts, [
        { title: 'ID', of: ({ prompt_id }) => prompt_id },
        { title: 'SENT', of: ({ created_at }) => out.time(created_at) },
        { title: 'PROMPT', of: ({ text }) => text },
      ])
    for (const { prompt_id: id, text, created_at: sent } of prompts)
      out.line(bold(shortId(id, true)), '  ', firstLine(text), dim(`  ${out.time(sent)}`))
    out.note(`Cancel one: ${next(`svc sessions cancel ${shortId(at.id, true)} <prompt>`)}`)
  },
})

export const cancel = command({
  summary: 'Cancel one prompt that waits for the agent of a session',
  about: ['Once the agent has it, only the end of its turn stops it: svc sessions abort.'],
  scope: 'project',
  args: {
    id: sessionArg,
    prompt: { summary: 'Id of the prompt or its first characters (default: the only one that waits)', optional: true },
  },
  examples: ['svc sessions cancel 8f3a1c20', 'svc sessions cancel 8f3a1c20 7d2e41b0'],
  async run(ctx, { args }) {
    const at = await sessionAt(ctx, args.id)
    const { prompt_id: promptId } = await waitingPrompt(at, args.prompt)
    const cancelled = await at.delete('/prompts/{promptId}', { path: { promptId } })
    const { out } = ctx
    if (out.json) return out.document(cancelled)
    out.line(green('✓ '), 'Cancelled ', bold(firstLine(cancelled.text)), `  ${shortId(promptId, out.terminal)}`)
  },
})

const firstLine = (text: string) => text.trim().split('\n')[0]!

/** In the order of delivery. */
async function waitingPrompts(at: SessionClient): Promise<Prompt[]> {
  const newestFirst = await allPages(async (query) => {
    const found = await at.page('/prompts', { query: { ...query, status: 'accepted' } })
    return { data: found.data.prompts, cursor: found.cursor }
  })
  return newestFirst.toReversed()
}

async function waitingPrompt(at: SessionClient, given: string | undefined): Promise<{ prompt_id: string }> {
  const waiting = await waitingPrompts(at)
  const next = [`svc sessions queue ${at.id.slice(0, 8)}`]
  if (given !== undefined) {
    // The server explains why it cannot cancel a prompt that no longer waits.
    if (given.length === at.id.length) return { prompt_id: given }
    return findOne(waiting, given, { what: ['waiting prompt', 'waiting prompts'], id: (one) => one.prompt_id, next })
  }
  if (waiting.length === 1) return waiting[0]!
  if (waiting.length === 0)
    throw new Refusal('not_found', 'No prompt waits, so there is nothing to cancel', {
      hint: 'The agent may have it already. Abort its turn instead.',
      next: [`svc sessions abort ${at.id.slice(0, 8)}`],
    })
  throw new Refusal('ambiguous', `${waiting.length} prompts wait`, {
    hint: 'Name one: svc sessions cancel <session> <prompt>',
    detail: { prompts: waiting.map(({ prompt_id, text }) => ({ prompt_id, text })) },
    next,
  })
}
