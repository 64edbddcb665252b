import { command } from '../../arguments/command.ts'
import { dim } from '../../terminal/output.ts'
import { meaning, shownValue } from './keys.ts'

export const ls = command({
  summary: 'List the settings of a project',
  scope: 'project',
  examples: ['svc settings ls', 'svc settings ls --json'],
  async run({ out, project, next }) {
    const { name, default_branch, settings } = await project.get('')
    if (out.json) return out.document({ name, default_branch, ...settings })
    const rows = Object.entries({ name, default_branch, ...settings })
    out.table(rows, [
      { title: 'SETTING', of: ([key]) => key },
      {
        title: 'VALUE',
        of: ([key, value]) => (out.terminal ? shownValue(key, value) : plainValue(value)),
        shrink: true,
      },
      ...(out.terminal
        ? [{ title: '', of: ([key]: [string, unknown]) => dim(meaning[key] ?? ''), shrink: true as const }]
        : []),
    ])
    out.note(`Change one: ${next('svc settings set <setting>=<value>')}`)
  },
})

/** For programs, which pass the value back to `svc settings set`. */
function plainValue(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}
