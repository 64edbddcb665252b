import { useQuery } from '@tanstack/react-query'
import { Failure, useSend } from '../../components/requests.tsx'
import { useProject } from '../../components/shell/project-shell.tsx'
import { Button } from '../../ui/form.tsx'
import { Card, Rows } from '../../ui/layout.tsx'
import { Time } from '../../ui/text.tsx'
import { approvals, type Approval } from './queries.ts'
import { SessionLink } from '../../components/links.tsx'

/** Empty while no call waits for approval. */
export function Approvals({ sessionId }: { sessionId?: string }) {
  const { project_id: projectId } = useProject()
  const { data } = useQuery(approvals(projectId, sessionId))
  if (data === undefined || data.length === 0) return null
  return (
    <Card title="Waiting for you">
      <Rows label="Calls waiting for approval">
        {data.map((each) => (
          <ApprovalRow key={each.approval_id} approval={each} ofSession={sessionId !== undefined} />
        ))}
      </Rows>
    </Card>
  )
}

const decisions = [
  ['Allow once', { decision: 'approve' }],
  ['Always allow', { decision: 'approve', always: true }],
  ['Deny once', { decision: 'deny' }],
  ['Always block', { decision: 'deny', always: true }],
] as const

function ApprovalRow({ approval, ofSession }: { approval: Approval; ofSession: boolean }) {
  const { project_id: projectId, slug: project } = useProject()
  const path = { projectId, approvalId: approval.approval_id }
  const decide = useSend('POST', '/v1/projects/{projectId}/connector-approvals/{approvalId}/decide', {
    path,
    refetch: [['project', projectId, 'connectors']],
  })
  const call = `${approval.slug} ${approval.tool}`
  return (
    <li className="flex flex-col gap-2 px-4 py-3 text-sm">
      {decide.error !== null && <Failure error={decide.error} />}
      <p className="flex flex-wrap items-baseline gap-x-2">
        An agent wants to call <code className="font-mono">{call}</code>
        {!ofSession && approval.session_id !== null && (
          <SessionLink project={project} sessionId={approval.session_id}>
            in a session
          </SessionLink>
        )}
        <Time at={approval.created_at} />
      </p>
      <pre
        tabIndex={0}
        aria-label={`Arguments of ${call}`}
        className="max-h-60 overflow-auto rounded-md border border-line bg-sunken p-3 font-mono text-xs whitespace-pre-wrap"
      >
        {JSON.stringify(approval.arguments, null, 2)}
      </pre>
      <p className="flex flex-wrap gap-2">
        {decisions.map(([label, body], i) => (
          <Button
            key={label}
            kind={i === 0 ? 'primary' : 'plain'}
            busy={decide.isPending}
            onClick={() => decide.mutate(body)}
          >
            {label}
          </Button>
        ))}
      </p>
    </li>
  )
}
