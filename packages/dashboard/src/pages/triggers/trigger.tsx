import { Failure, useSend } from '../../components/requests.tsx'
import { useProject } from '../../components/shell/project-shell.tsx'
import { useWriteRefusal } from '../../components/role.ts'
import type { Trigger } from './queries.ts'
import { Badge, Time } from '../../ui/text.tsx'
import { Button } from '../../ui/form.tsx'
import { Card, Notice } from '../../ui/layout.tsx'
import { Slots } from './slots.tsx'
import { WebhookAddress } from './webhook-address.tsx'
import { ChangeRequestLink, SessionLink } from '../../components/links.tsx'

export function TriggerCard({ trigger: each }: { trigger: Trigger }) {
  const { project_id: projectId, account_id: accountId, slug: project } = useProject()
  const refusal = useWriteRefusal(accountId)
  const path = { projectId, slug: each.slug }
  const settle = { once: true, refetch: [['project', projectId]] }
  const fire = useSend('POST', '/v1/projects/{projectId}/triggers/{slug}/fire', { path, ...settle })
  const other = each.enabled ? 'disable' : 'enable'
  const turn = useSend('POST', `/v1/projects/{projectId}/triggers/{slug}/${other}`, { path, ...settle })
  const error = fire.error ?? turn.error
  const proposed = turn.data?.merged === false ? turn.data.change_request : null
  return (
    <Card
      title={each.slug}
      aside={
        <span className="flex flex-wrap items-center gap-2">
          <Badge tone={each.enabled ? 'good' : 'neutral'}>{each.enabled ? 'enabled' : 'disabled'}</Badge>
          <Button busy={fire.isPending} disabledReason={refusal} onClick={() => fire.mutate({})}>
            Fire now
          </Button>
          <Button action={turn} disabledReason={refusal}>
            {each.enabled ? 'Disable' : 'Enable'}
          </Button>
        </span>
      }
    >
      <div className="flex flex-col gap-2 px-4 py-3 text-sm">
        {error !== null && <Failure error={error} />}
        {fire.data !== undefined && (
          <Notice tone="neutral" title="Session started">
            <SessionLink project={project} sessionId={fire.data.session_id}>
              Open the session
            </SessionLink>
          </Notice>
        )}
        {proposed !== null && (
          <Notice tone="neutral" title="A change request with this change is waiting to be merged">
            <ChangeRequestLink project={project} number={proposed.number}>
              Change request #{proposed.number}
            </ChangeRequestLink>
          </Notice>
        )}
        <When trigger={each} />
        <details>
          <summary className="cursor-pointer text-dim">Prompt{each.agent === null ? '' : ` for ${each.agent}`}</summary>
          <p className="mt-1 rounded-md bg-sunken p-3 break-words whitespace-pre-wrap">{each.prompt}</p>
        </details>
      </div>
      <Slots slug={each.slug} />
    </Card>
  )
}

function When({ trigger: each }: { trigger: Trigger }) {
  if (each.type === 'webhook') return <WebhookAddress url={each.webhook_url} secretEnv={each.secret_env} />
  return (
    <p className="flex flex-wrap gap-x-2 text-dim">
      {each.cron === null ? (
        <span>Once, at {each.run_at?.replace('T', ' ')}</span>
      ) : (
        <code className="font-mono">{each.cron}</code>
      )}
      <span>{each.timezone}</span>
      {each.next_fire_at !== null && (
        <span>
          · next <Time at={each.next_fire_at} />
        </span>
      )}
    </p>
  )
}
