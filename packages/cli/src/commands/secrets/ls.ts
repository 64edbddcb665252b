import { command } from '../../arguments/command.ts'
import { dim, green, red } from '../../terminal/output.ts'

export const ls = command({
  summary: 'List the names of the secrets, and those that svc.toml requires; never a value',
  scope: 'project',
  examples: ['svc secrets ls', 'svc secrets ls --json'],
  async run({ out, project, next }) {
    const found = await project.get('/secrets')
    if (out.json) return out.document(found)
    const set = new Map(found.items.map((item) => [item.name, item]))
    const names = [...new Set([...found.missing, ...set.keys(), ...found.optional])]
    if (names.length === 0) return out.note(`No secrets yet. Set one from stdin: ${next('svc secrets set NAME=-')}`)
    const asked = (name: string) =>
      found.required.includes(name) ? 'required' : found.optional.includes(name) ? 'optional' : ''
    out.table(names, [
      { title: 'NAME', of: (name) => name },
      {
        title: 'STATE',
        of: (name) => (set.has(name) ? green('set') : found.missing.includes(name) ? red('missing') : dim('not set')),
      },
      { title: 'SVC.TOML', of: asked },
      { title: 'CHANGED', of: (name) => (set.has(name) ? out.time(set.get(name)!.updated_at) : '') },
    ])
    if (found.missing.length > 0) out.note(`Missing: ${next(`svc secrets set ${found.missing[0]}=-`)}`)
  },
})
