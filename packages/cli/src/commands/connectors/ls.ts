import { command } from '../../arguments/command.ts'
import { dim } from '../../terminal/output.ts'
import { warnOfErrors } from '../triggers/labels.ts'
import { policyOfAll, stateOf } from './labels.ts'

export const ls = command({
  summary: 'List the connectors of svc.toml on the default branch',
  scope: 'project',
  examples: ['svc connectors ls', 'svc connectors ls --json'],
  async run({ out, project, next }) {
    const found = await project.get('/connectors')
    out.list(found, found.connectors, 'No connectors yet. Define them as [[connectors]] in svc.toml.', [
      { title: 'SLUG', of: (connector) => connector.slug },
      { title: 'TYPE', of: (connector) => connector.type },
      { title: 'STATE', of: stateOf },
      { title: 'TOOLS', of: (connector) => String(connector.tools.length) },
      { title: 'POLICY', of: policyOfAll },
      { title: 'WHY', of: (connector) => (connector.error === null ? dim('') : connector.error), shrink: true },
    ])
    warnOfErrors(out, found.errors)
    if (found.approvals_pending > 0)
      out.note(`${found.approvals_pending} calls wait for approval: ${next('svc connectors approvals')}`)
  },
})
