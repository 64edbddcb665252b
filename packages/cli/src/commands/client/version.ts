import { version as current } from '../../config/build-values.ts'
import { command } from '../../arguments/command.ts'

export const version = command({
  summary: 'Print the version of this client',
  scope: 'nothing',
  examples: ['svc version', 'svc --version'],
  async run({ out }) {
    if (out.json) out.document({ version: current })
    else out.line(current)
  },
})
