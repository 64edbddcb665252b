import { command } from '../../arguments/command.ts'
import { bold, dim, green, red, yellow } from '../../terminal/output.ts'
import { slugArg, warnOfErrors, when } from './labels.ts'

export const ls = command({
  summary: 'List the triggers of svc.toml on the default branch',
  scope: 'project',
  examples: ['svc triggers ls', 'svc triggers ls --json'],
  async run({ out, project }) {
    const found = await project.get('/triggers')
    out.list(found, found.triggers, 'No triggers yet. Define them as [[triggers]] in svc.toml.', [
      { title: 'SLUG', of: (trigger) => trigger.slug },
      { title: 'STATE', of: (trigger) => (trigger.enabled ? green('enabled') : dim('disabled')) },
      { title: 'WHEN', of: when, shrink: true },
      {
        title: 'LAST FIRED',
        of: (trigger) => (trigger.last_fired_at === null ? dim('never') : out.time(trigger.last_fired_at)),
      },
      { title: 'NEXT', of: (trigger) => (trigger.next_fire_at === null ? '' : out.time(trigger.next_fire_at)) },
    ])
    warnOfErrors(out, found.errors)
  },
})

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

export const fire = command({
  summary: 'Fire a trigger now, even if disabled: starts a session',
  scope: 'project',
  args: { slug: slugArg },
  flags: { message: { kind: 'text', summary: "Message added to the trigger's prompt", value: 'text' } },
  examples: ['svc triggers fire nightly', 'svc triggers fire triage --message "Only the parser"'],
  async run({ io, out, project, next }, { args, flags }) {
    const fired = await project.post('/triggers/{slug}/fire', {
      path: { slug: args.slug },
      headers: { 'Idempotency-Key': io.newId() },
      body: flags.message === undefined ? {} : { message: flags.message },
    })
    out.done(fired, 'Session ', bold(fired.session_id))
    out.note(`Follow it: ${next(`svc sessions chat ${fired.session_id.slice(0, 8)}`)}`)
  },
})

const about = [
  'The service edits svc.toml in a change request. It merges at once for a user, and waits for a user if an agent requested it.',
] as const

const switching = (verb: 'enable' | 'disable', summary: string) =>
  command({
    summary,
    about,
    scope: 'project',
    args: { slug: slugArg },
    examples: [`svc triggers ${verb} nightly`, `svc triggers ${verb} nightly --json`],
    async run({ out, project, next }, { args }) {
      const { change_request: cr, merged } = await project.post(`/triggers/{slug}/${verb}`, {
        path: { slug: args.slug },
        once: true,
      })
      if (out.json) return out.document({ change_request: cr, merged })
      const state = `${verb}d`
      if (cr === null) return out.line(green('✓ '), `${args.slug} is already ${state}`)
      if (merged) return out.line(green('✓ '), bold(args.slug), ` is ${state} by #${cr.number}`)
      out.line(green('✓ '), 'Opened ', bold(`#${cr.number}`), `: ${args.slug} is ${state} once a user merges it`)
      out.note(`The user merges it with ${next(`svc cr merge ${cr.number}`)}`)
    },
  })

export const enable = switching('enable', 'Set enabled = true in svc.toml')
export const disable = switching('disable', 'Set enabled = false in svc.toml')
