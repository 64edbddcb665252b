import { command } from '../../arguments/command.ts'
import { argumentsLine } from './labels.ts'

export const approvals = command({
  summary: 'List calls of agents that wait for approval',
  scope: 'project',
  flags: {
    all: { kind: 'switch', summary: 'Include decided and expired calls' },
    session: { kind: 'text', summary: 'Only this session', value: 'id' },
  },
  examples: ['svc connectors approvals', 'svc connectors approvals --all --json'],
  async run({ out, project, next }, { flags }) {
    const found = await project.get('/connector-approvals', {
      query: {
        status: flags.all ? 'all' : 'pending',
        session_id: flags.session,
      },
    })
    out.list(found, found.approvals, 'No calls wait for approval.', [
      { title: 'ID', of: (approval) => approval.approval_id.slice(0, 8) },
      { title: 'STATE', of: (approval) => approval.status },
      { title: 'TOOL', of: (approval) => `${approval.slug}/${approval.tool}` },
      { title: 'SESSION', of: (approval) => approval.session_id?.slice(0, 8) ?? '' },
      { title: 'ASKED', of: (approval) => out.time(approval.created_at) },
      { title: 'WITH', of: argumentsLine, shrink: true },
    ])
    if (!flags.all && found.approvals.length > 0) out.note(`Decide: ${next('svc connectors approve <id>')}, or deny`)
  },
})
