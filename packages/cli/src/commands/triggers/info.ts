import { command } from '../../arguments/command.ts'
import { dim, green, red, yellow } from '../../terminal/output.ts'
import { slugArg, when } from './labels.ts'

export const info = command({
  summary: 'Show a trigger and its latest runs',
  scope: 'project',
  args: { slug: slugArg },
  examples: ['svc triggers info nightly', 'svc triggers info nightly --json'],
  async run({ out, project }, { args }) {
    const found = await project.get('/triggers/{slug}', { path: { slug: args.slug } })
    if (out.json) return out.document(found)
    out.fields([
      ['slug', found.slug],
      ['state', found.enabled ? green('enabled') : dim('disabled')],
      ['when', when(found)],
      ['agent', found.agent ?? dim('the default')],
      ['model', found.model],
      ['url', found.webhook_url],
      ['signed with', found.webhook_url === null ? null : (found.secret_env ?? '')],
      ['last fired', found.last_fired_at === null ? dim('never') : out.time(found.last_fired_at)],
      ['next', found.next_fire_at === null ? dim('none') : out.time(found.next_fire_at)],
      ['prompt', found.prompt],
    ])
    const colour = { fired: green, failed: red, skipped: red, claimed: yellow }
    out.section(found.slots, [
      { title: 'DUE', of: (slot) => out.time(slot.due_at) },
      { title: 'BY', of: (slot) => slot.kind },
      { title: 'STATE', of: (slot) => colour[slot.status](slot.status === 'claimed' ? 'waits' : slot.status) },
      { title: 'SESSION', of: (slot) => slot.session_id?.slice(0, 8) ?? '' },
      { title: 'WHY', of: (slot) => slot.reason ?? (slot.caught_up ? 'caught up' : ''), shrink: true },
    ])
  },
})
