import { Link } from '@tanstack/react-router'
import { paths } from '../../paths.ts'
import { Badge, Time } from '../../ui/text.tsx'
import { Row } from '../../ui/layout.tsx'
import type { Project } from '../projects/queries.ts'
import type { Approval } from './queries.ts'
import { SessionLink } from '../../components/links.tsx'

export function PendingApprovalRow({ approval, project }: { approval: Approval; project: Project }) {
  const { session_id: sessionId, slug, tool, created_at: createdAt } = approval
  const call = `Wants to call ${slug} ${tool}`
  const linkClass = 'font-medium hover:underline'
  return (
    <Row>
      <Badge tone="warn">needs approval</Badge>
      <span className="min-w-0 flex-1 basis-40">
        {sessionId === null ? (
          <Link to={paths.connectors} params={{ project: project.slug }} className={linkClass}>
            {call}
          </Link>
        ) : (
          <SessionLink project={project.slug} sessionId={sessionId} className={linkClass}>
            {call}
          </SessionLink>
        )}
      </span>
      <span className="min-w-0 text-sm text-dim">{project.name}</span>
      <Time at={createdAt} />
    </Row>
  )
}
