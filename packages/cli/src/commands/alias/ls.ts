import { command } from '../../arguments/command.ts'
import { cyan } from '../../terminal/output.ts'

export const ls = command({
  summary: 'List your aliases',
  scope: 'nothing',
  examples: ['svc alias ls', 'svc alias ls --json'],
  async run({ config, out }) {
    const aliases = Object.entries((await config()).aliases ?? {}).map(([name, expansion]) => ({ name, expansion }))
    if (out.json) return out.document({ aliases })
    if (aliases.length === 0) return out.note("No aliases yet. Create one: svc alias set co 'cr checkout'")
    out.table(aliases, [
      { title: 'ALIAS', of: ({ name }) => cyan(name) },
      { title: 'COMMAND', of: ({ expansion }) => `svc ${expansion}`, shrink: true },
    ])
  },
})
