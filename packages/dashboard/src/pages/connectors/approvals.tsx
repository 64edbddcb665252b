import { useQuery } from '@tanstack/react-query'
import { AnswerButtons, permissionTitle, RequestCard } from '../../components/request-card.tsx'
import { useSend } from '../../components/requests.tsx'
import { useWriteRefusal } from '../../components/role.ts'
import { useProject } from '../../components/shell/project-shell.tsx'
import { Button } from '../../ui/form.tsx'
import { approvals, type Approval } from './queries.ts'
import { SessionLink } from '../../components/links.tsx'

/** Empty while no call waits for approval. */
export function Approvals({ sessionId }: { sessionId?: string }) {
  const { project_id: projectId } = useProject()
  const { data } = useQuery(approvals(projectId, sessionId))
  if (data === undefined || data.length === 0) return null
  return (
    <ul aria-label="Calls waiting for approval" className="flex flex-col gap-3">
      {data.map((each) => (
        <li key={each.approval_id}>
          <ApprovalCard approval={each} ofSession={sessionId !== undefined} />
        </li>
      ))}
    </ul>
  )
}

const decisions = [
  ['Allow once', { decision: 'approve' }],
  ['Always allow this tool', { decision: 'approve', always: true }],
  ['Deny', { decision: 'deny' }],
  ['Always block this tool', { decision: 'deny', always: true }],
] as const

function ApprovalCard({ approval, ofSession }: { approval: Approval; ofSession: boolean }) {
  const { project_id: projectId, slug: project, account_id: accountId } = useProject()
  const refusal = useWriteRefusal(accountId)
  const path = { projectId, approvalId: approval.approval_id }
  const decide = useSend('POST', '/v1/projects/{projectId}/connector-approvals/{approvalId}/decide', {
    path,
    refetch: [['project', projectId, 'connectors']],
  })
  const call = `${approval.slug}/${approval.tool}`
  return (
    <RequestCard
      title={permissionTitle(`Call ${call}`)}
      link={
        !ofSession &&
        approval.session_id !== null && (
          <SessionLink project={project} sessionId={approval.session_id}>
            in a session
          </SessionLink>
        )
      }
      at={approval.created_at}
      details={{ label: `Arguments of ${call}`, text: JSON.stringify(approval.arguments, null, 2) }}
      error={decide.error}
    >
      <AnswerButtons>
        {decisions.map(([label, body], i) => (
          <Button
            key={label}
            kind={i === 0 ? 'primary' : 'plain'}
            busy={decide.isPending}
            disabledReason={refusal}
            onClick={() => decide.mutate(body)}
          >
            {label}
          </Button>
        ))}
      </AnswerButtons>
    </RequestCard>
  )
}
