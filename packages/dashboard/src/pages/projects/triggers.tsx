import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { api, onlyOnce, reply } from '../../api.ts'
import { askAgain } from '../../ask-again.ts'
import { Answer } from '../../components/answer.tsx'
import { Failure } from '../../components/failure.tsx'
import { ManifestIssues } from '../../components/manifest-issues.tsx'
import { useProject } from '../../components/project-shell.tsx'
import { paths } from '../../paths.ts'
import { trigger, triggers, type Trigger } from '../../queries.ts'
import { Badge } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { Card, Empty, Row, Rows } from '../../ui/card.tsx'
import { Time } from '../../ui/time.tsx'

export function TriggersPage() {
  const { project_id } = useProject()
  const found = useQuery(triggers(project_id))
  return (
    <div className="flex flex-col gap-6">
      <h1 className="text-xl font-semibold">Triggers</h1>
      <Answer of={found} what="triggers">
        {({ triggers, errors }) => (
          <>
            <ManifestIssues issues={errors} />
            {triggers.length === 0 ? (
              <Card>
                <Empty>No trigger. They are written in svc.toml and work once that is on the default branch.</Empty>
              </Card>
            ) : (
              triggers.map((each) => <TriggerCard key={each.slug} projectId={project_id} trigger={each} />)
            )}
          </>
        )}
      </Answer>
    </div>
  )
}

function TriggerCard({ projectId, trigger: each }: { projectId: string; trigger: Trigger }) {
  const queries = useQueryClient()
  const { slug: project } = useProject()
  const path = { projectId, slug: each.slug }
  const found = useQuery(trigger(projectId, each.slug))
  const settle = { onSettled: askAgain(queries, ['project', projectId]) }
  const fire = useMutation({
    mutationFn: () =>
      reply(
        api.POST('/v1/projects/{projectId}/triggers/{slug}/fire', { params: { path, header: onlyOnce() }, body: {} }),
      ),
    ...settle,
  })
  const turn = useMutation({
    mutationFn: () =>
      each.enabled
        ? reply(api.POST('/v1/projects/{projectId}/triggers/{slug}/disable', { params: { path } }))
        : reply(api.POST('/v1/projects/{projectId}/triggers/{slug}/enable', { params: { path } })),
    ...settle,
  })
  const error = fire.error ?? turn.error
  return (
    <Card
      title={each.slug}
      aside={
        <span className="flex flex-wrap items-center gap-2">
          <Badge tone={each.enabled ? 'good' : 'neutral'}>{each.enabled ? 'enabled' : 'disabled'}</Badge>
          <Button busy={fire.isPending} onClick={() => fire.mutate()}>
            Fire now
          </Button>
          <Button busy={turn.isPending} onClick={() => turn.mutate()}>
            {each.enabled ? 'Disable' : 'Enable'}
          </Button>
        </span>
      }
    >
      <div className="flex flex-col gap-2 px-4 py-3 text-sm">
        {error !== null && <Failure error={error} />}
        <p className="text-dim">
          {each.type === 'cron' && (each.cron ?? each.run_at ?? '')} {each.timezone ?? ''}
          {each.type === 'webhook' && each.webhook_url}
          {each.next_fire_at !== null && (
            <>
              {' '}
              next <Time at={each.next_fire_at} />
            </>
          )}
        </p>
      </div>
      <Answer of={found} what="its slots">
        {({ slots }) =>
          slots.length === 0 ? (
            <Empty>It has not been due yet.</Empty>
          ) : (
            <Rows label={`Slots of ${each.slug}`}>
              {slots.slice(0, 10).map((slot) => (
                <Row key={slot.slot_id}>
                  <Badge tone={slot.status === 'fired' ? 'good' : 'neutral'}>{slot.status}</Badge>
                  <span className="min-w-40 flex-1 text-sm text-dim">
                    {slot.session_id === null ? (
                      (slot.reason ?? '')
                    ) : (
                      <Link
                        to={paths.session}
                        params={{ project, sessionId: slot.session_id }}
                        className="text-accent underline"
                      >
                        its session
                      </Link>
                    )}
                  </span>
                  <Time at={slot.due_at ?? slot.created_at} />
                </Row>
              ))}
            </Rows>
          )
        }
      </Answer>
    </Card>
  )
}
