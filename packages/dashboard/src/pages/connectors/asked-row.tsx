import { Link } from '@tanstack/react-router'
import { paths } from '../../paths.ts'
import { Badge } from '../../ui/badge.tsx'
import { Row } from '../../ui/card.tsx'
import { Time } from '../../ui/time.tsx'
import type { Approval } from './queries.ts'

/** That an agent waits for an answer; where it can be given is behind the link. */
export function AskedRow({ approval, slug: project, name }: { approval: Approval; slug: string; name: string }) {
  const { session_id: sessionId, slug, tool, created_at: createdAt } = approval
  const call = `Wants to call ${slug} ${tool}`
  const look = 'font-medium hover:underline'
  return (
    <Row>
      <Badge tone="warn">asks you</Badge>
      <span className="min-w-0 flex-1 basis-40">
        {sessionId === null ? (
          <Link to={paths.connectors} params={{ project }} className={look}>
            {call}
          </Link>
        ) : (
          <Link to={paths.session} params={{ project, sessionId }} className={look}>
            {call}
          </Link>
        )}
      </span>
      <span className="min-w-0 text-sm text-dim">{name}</span>
      <Time at={createdAt} />
    </Row>
  )
}
