import { useQuery } from '@tanstack/react-query'
import { Read } from '../../components/requests.tsx'
import { useProject } from '../../components/shell/project-shell.tsx'
import { sessions } from '../sessions/queries.ts'
import { trigger } from './queries.ts'
import { Badge, Time } from '../../ui/text.tsx'
import { Empty, Row, Rows } from '../../ui/layout.tsx'
import { SessionLink } from '../../components/links.tsx'

const shownMax = 10
const kinds = { cron: 'schedule', webhook: 'webhook', manual: 'manual' } as const
const tones = { claimed: 'accent', fired: 'good', skipped: 'warn', failed: 'bad' } as const

export function Slots({ slug }: { slug: string }) {
  const { project_id: projectId, slug: project } = useProject()
  const { data: known = [] } = useQuery(sessions(projectId))
  return (
    <Read query={trigger({ projectId, slug })} what="the runs">
      {({ slots }) => (
        <Rows label={`Runs of ${slug}`} empty={<Empty>No runs yet. Press Fire now to start one.</Empty>}>
          {slots.slice(0, shownMax).map((slot) => (
            <Row key={slot.slot_id}>
              <Badge tone={tones[slot.status]}>{slot.status}</Badge>
              <span className="min-w-40 flex-1 text-sm">
                {slot.session_id === null ? (
                  <span className="text-dim">{slot.reason === null ? '' : withoutCode(slot.reason)}</span>
                ) : (
                  <SessionLink project={project} sessionId={slot.session_id}>
                    {known.find(({ session_id }) => session_id === slot.session_id)?.name ?? 'Session'}
                  </SessionLink>
                )}
                {slot.status === 'failed' && slot.reason !== null && <p className="text-bad">{slot.reason}</p>}
              </span>
              <span className="text-sm text-dim">
                {kinds[slot.kind]}
                {slot.caught_up && ' · late, after a missed run'}
              </span>
              <Time at={slot.due_at} />
            </Row>
          ))}
        </Rows>
      )}
    </Read>
  )
}

/** The service stores the reason with its error code in front. */
function withoutCode(reason: string): string {
  return reason.replace(/^[a-z]+(?:_[a-z]+)*: /, '')
}
