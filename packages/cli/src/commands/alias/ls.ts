import { command } from '../../command.ts'
import { cyan } from '../../output.ts'

export const ls = command({
  summary: 'List your aliases',
  scope: 'nothing',
  args: {},
  flags: {},
  examples: ['svc alias ls', 'svc alias ls --json'],
  async run({ config, out }) {
    const aliases = Object.entries((await config()).aliases ?? {}).map(([name, expansion]) => ({ name, expansion }))
    if (out.json) return out.document({ aliases })
    if (aliases.length === 0) return out.note("No aliases yet. svc alias set co 'cr checkout' makes the first.")
    out.table(aliases, [
      { title: 'ALIAS', of: ({ name }) => cyan(name) },
      { title: 'COMMAND', of: ({ expansion }) => `svc ${expansion}`, shrink: true },
    ])
  },
})
