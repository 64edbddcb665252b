import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Answer } from '../../components/answer.tsx'
import { useProject } from '../../components/project-shell.tsx'
import { paths } from '../../paths.ts'
import { sessions } from '../../queries.ts'
import { trigger } from './queries.ts'
import { Badge } from '../../ui/badge.tsx'
import { Empty, Row, Rows } from '../../ui/card.tsx'
import { Time } from '../../ui/time.tsx'

const shownMax = 10
const kinds = { cron: 'by the clock', webhook: 'by a call', manual: 'by hand' } as const
const tones = { claimed: 'accent', fired: 'good', skipped: 'warn', failed: 'bad' } as const

/** The newest times it was due, and what came of each. */
export function Slots({ slug }: { slug: string }) {
  const { project_id: projectId, slug: project } = useProject()
  const found = useQuery(trigger(projectId, slug))
  const { data: known = [] } = useQuery(sessions(projectId))
  return (
    <Answer of={found} what="its slots">
      {({ slots }) =>
        slots.length === 0 ? (
          <Empty>It has not been due yet.</Empty>
        ) : (
          <Rows label={`Slots of ${slug}`}>
            {slots.slice(0, shownMax).map((slot) => (
              <Row key={slot.slot_id}>
                <Badge tone={tones[slot.status]}>{slot.status}</Badge>
                <span className="min-w-40 flex-1 text-sm">
                  {slot.session_id === null ? (
                    <span className="text-dim">{slot.reason === null ? '' : withoutCode(slot.reason)}</span>
                  ) : (
                    <Link
                      to={paths.session}
                      params={{ project, sessionId: slot.session_id }}
                      className="text-accent underline"
                    >
                      {known.find(({ session_id }) => session_id === slot.session_id)?.name ?? 'its session'}
                    </Link>
                  )}
                  {slot.status === 'failed' && slot.reason !== null && <p className="text-bad">{slot.reason}</p>}
                </span>
                <span className="text-sm text-dim">
                  {kinds[slot.kind]}
                  {slot.caught_up && ', late: it was missed before'}
                </span>
                <Time at={slot.due_at} />
              </Row>
            ))}
          </Rows>
        )
      }
    </Answer>
  )
}

/** A refusal is kept with its code before it, for programs. */
function withoutCode(reason: string): string {
  return reason.replace(/^[a-z]+(?:_[a-z]+)*: /, '')
}
