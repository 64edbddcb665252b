import { command } from '../../arguments/command.ts'
import { dim, green } from '../../terminal/output.ts'
import { warnOfErrors, when } from './labels.ts'

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
