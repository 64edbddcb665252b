import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { ConfirmButton } from '../../components/confirm-button.tsx'
import { NoModelNote } from '../../components/no-model.tsx'
import { Failure, Read, useSend } from '../../components/requests.tsx'
import { useProject } from '../../components/shell/project-shell.tsx'
import { NextTimes } from '../../components/next-times.tsx'
import { useWriteRefusal } from '../../components/role.ts'
import { trigger, type Trigger } from './queries.ts'
import { Badge, Command, Time, withCode } from '../../ui/text.tsx'
import { Button } from '../../ui/form.tsx'
import { Card, Empty, Notice, Row, rowFacts, Rows } from '../../ui/layout.tsx'
import { ChangeRequestLink, SessionLink } from '../../components/links.tsx'
import { sessions } from '../sessions/queries.ts'
import { paths } from '../../paths.ts'

export function TriggerCard({ trigger: each, isSecretSet }: { trigger: Trigger; isSecretSet: boolean }) {
  const { project_id: projectId, account_id: accountId, slug: project, default_branch: branch } = useProject()
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
          <ConfirmButton
            kind="plain"
            verb={each.enabled ? 'Disable' : 'Enable'}
            verbKind={each.enabled ? 'danger' : 'primary'}
            title={`${each.enabled ? 'Disable' : 'Enable'} ${each.slug}?`}
            disabledReason={refusal}
            action={turn}
            given={undefined}
          >
            This changes <code className="font-mono">svc.toml</code> on {branch} with a change request that is merged at
            once, in your name. If the git host refuses the merge, the change request stays open, and the trigger stays{' '}
            {each.enabled ? 'enabled' : 'disabled'}.
          </ConfirmButton>
        </span>
      }
    >
      <div className="flex flex-col gap-2 px-4 py-3 text-sm">
        {each.model === null && <NoModelNote />}
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
        <When trigger={each} isSecretSet={isSecretSet} />
        <details>
          <summary className="cursor-pointer text-dim">Prompt{each.agent === null ? '' : ` for ${each.agent}`}</summary>
          <p className="mt-1 rounded-md border border-line bg-sunken p-3 break-words whitespace-pre-wrap">
            {each.prompt}
          </p>
        </details>
      </div>
      <div className="border-t border-line">
        <Slots slug={each.slug} />
      </div>
    </Card>
  )
}

function When({ trigger: each, isSecretSet }: { trigger: Trigger; isSecretSet: boolean }) {
  if (each.type === 'webhook')
    return <WebhookAddress url={each.webhook_url} secretEnv={each.secret_env} isSecretSet={isSecretSet} />
  return (
    <div className="flex flex-col gap-0.5">
      <p>
        {each.schedule ?? each.cron ?? each.run_at} <span className="text-dim">({each.timezone})</span>
        {each.cron !== null && (
          <>
            {' '}
            <code className="font-mono text-xs text-dim">{each.cron}</code>
          </>
        )}
      </p>
      <NextTimes of={each.next_fire_times ?? []} timeZone={each.timezone} />
    </div>
  )
}

const shownMax = 10
const kinds = { cron: 'schedule', webhook: 'webhook', manual: 'manual' } as const
const tones = { claimed: 'accent', fired: 'good', skipped: 'warn', failed: 'bad' } as const

function Slots({ slug }: { slug: string }) {
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
                {slot.status === 'failed' && slot.reason !== null && (
                  <p className="text-bad">{withCode(slot.reason)}</p>
                )}
              </span>
              <span className={rowFacts}>
                {kinds[slot.kind]}
                {slot.caught_up && ' · late, after a missed run'} · <Time at={slot.due_at} />
              </span>
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

interface Webhook {
  url: string | null
  secretEnv: string | null
  isSecretSet: boolean
}

function WebhookAddress({ url, secretEnv, isSecretSet }: Webhook) {
  const { slug: project } = useProject()
  if (url === null) return null
  return (
    <>
      {!isSecretSet && (
        <Notice tone="warn" title={`Calls are rejected because the secret ${secretEnv} is not set`}>
          <Link to={paths.secrets} params={{ project }} className="text-accent underline">
            Set the secret
          </Link>
        </Notice>
      )}
      <Command>{url}</Command>
      {secretEnv !== null && (
        <details>
          <summary className="cursor-pointer text-dim">
            Calls must be signed with the secret <code className="font-mono">{secretEnv}</code>. Show a sample call
          </summary>
          <div className="mt-1">
            <Command>{signedCall(url, secretEnv)}</Command>
          </div>
        </details>
      )}
    </>
  )
}

function signedCall(url: string, secretEnv: string): string {
  return [
    `body='{"text":"hello"}'`,
    `signature=$(printf %s "$body" | openssl dgst -sha256 -hmac "$${secretEnv}" | sed 's/.* //')`,
    `curl --data "$body" -H "X-Svc-Signature: sha256=$signature" ${url}`,
  ].join('\n')
}
