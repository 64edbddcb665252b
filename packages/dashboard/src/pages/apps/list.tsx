import { useQuery } from '@tanstack/react-query'
import { Failure, Read, useSend } from '../../components/requests.tsx'
import { ManifestIssues } from '../../components/manifest-issues.tsx'
import { useProject } from '../../components/shell/project-shell.tsx'
import { useWriteRefusal } from '../../components/role.ts'
import { shortCommit } from '../../components/short-commit.ts'
import { type App, appLog, apps } from './queries.ts'
import { Badge, Output, Time, type Tone, withCode } from '../../ui/text.tsx'
import { Button } from '../../ui/form.tsx'
import { Card, Empty, Page, Row, Rows } from '../../ui/layout.tsx'

type Deploy = App['deploys'][number]

const tones: Partial<Record<App['state'] | Deploy['status'], Tone>> = {
  ...{ running: 'good', restarting: 'warn', deploying: 'accent', failed: 'bad' },
  ...{ queued: 'accent', building: 'accent', starting: 'accent' },
}

const example = `[[apps]]
slug = "site"
build = "npm ci && npm run build"
command = "npm run serve"  # listens on $PORT
# Without a command: static_dir = "public"`

export function AppsPage() {
  return (
    <Page title="Apps">
      <Read query={apps(useProject().project_id)} what="apps">
        {({ apps, errors }) => (
          <>
            <ManifestIssues issues={errors} />
            {apps.map((each) => (
              <AppCard key={each.slug} app={each} />
            ))}
            {apps.length === 0 && (
              <Card>
                <Empty command={example}>
                  No apps yet. Define one in svc.toml; it deploys when the file reaches the default branch:
                </Empty>
              </Card>
            )}
          </>
        )}
      </Read>
    </Page>
  )
}

function AppCard({ app }: { app: App }) {
  const { project_id: projectId, account_id: accountId } = useProject()
  const writeRefusal = useWriteRefusal(accountId)
  const path = { projectId, slug: app.slug }
  const refetch = [['project', projectId, 'apps']]
  const deploy = useSend('POST', '/v1/projects/{projectId}/apps/{slug}/deploy', { path, once: true, refetch })
  const stop = useSend('POST', '/v1/projects/{projectId}/apps/{slug}/stop', { path, refetch })
  const back = useSend('POST', '/v1/projects/{projectId}/apps/{slug}/rollback', { path, once: true, refetch })
  const error = deploy.error ?? stop.error ?? back.error
  const deployRefusal = writeRefusal ?? (app.state === 'off' || app.state === 'disabled' ? app.reason : null)
  // Otherwise the reason names the command that does what the button does.
  const isDeploysReason = app.reason === (app.deploys[0]?.error ?? null)
  const reason = app.state === 'stopped' && !isDeploysReason ? 'Press Deploy to start it again.' : app.reason
  const stopRefusal = writeRefusal ?? (app.live === null && app.next === null ? 'The app is not running' : null)
  return (
    <Card
      title={app.slug}
      aside={
        <span className="flex flex-wrap items-center gap-2">
          <Badge tone={tones[app.state] ?? 'neutral'}>{app.state}</Badge>
          <Button action={deploy} disabledReason={deployRefusal}>
            Deploy
          </Button>
          <Button action={stop} disabledReason={stopRefusal}>
            Stop
          </Button>
        </span>
      }
    >
      <div className="flex flex-col gap-2 px-4 py-3 text-sm">
        {error !== null && <Failure error={error} />}
        <p className="break-words">
          <a className="break-all text-accent underline" href={app.url} target="_blank" rel="noreferrer">
            {app.url}
          </a>
        </p>
        {reason !== null && <p className="break-words text-dim">{withCode(reason)}</p>}
      </div>
      <div className="border-t border-line">
        <Rows label={`Deploys of ${app.slug}`} empty={<Empty>No deploys yet. Press Deploy to start one.</Empty>}>
          {app.deploys.map((each) => (
            <DeployRow
              key={each.deploy_id}
              app={app}
              deploy={each}
              back={{ isPending: back.isPending, mutate: () => back.mutate({ deploy: each.number }) }}
              refusal={deployRefusal}
            />
          ))}
        </Rows>
      </div>
      <AppLog app={app} path={path} />
    </Card>
  )
}

function DeployRow({
  app,
  deploy,
  back,
  refusal,
}: {
  app: App
  deploy: Deploy
  back: { isPending: boolean; mutate: () => void }
  refusal: string | null
}) {
  const isLive = deploy.deploy_id === app.live?.deploy_id
  return (
    <Row>
      <span className="text-sm font-medium">#{deploy.number}</span>
      {/* The card says how the live deploy is. */}
      {isLive ? (
        <Badge tone="neutral">live</Badge>
      ) : (
        <Badge tone={tones[deploy.status] ?? 'neutral'}>{deploy.status}</Badge>
      )}
      <code className="text-xs">{shortCommit(deploy.commit_sha)}</code>
      <span className="min-w-40 flex-1 text-sm break-words text-dim">{deploy.error ?? causeOf(deploy)}</span>
      <Time at={deploy.created_at} />
      {deploy.ready_at !== null && !isLive && (
        <Button
          kind="quiet"
          aria-label={`Roll back ${app.slug} to #${deploy.number}`}
          action={back}
          disabledReason={refusal}
        >
          Roll back
        </Button>
      )}
    </Row>
  )
}

function AppLog({ app, path }: { app: App; path: { projectId: string; slug: string } }) {
  const { data } = useQuery(appLog(path))
  if (data === undefined || data.lines.length === 0) return null
  return (
    <details className="border-t border-line px-4 py-3 text-sm">
      <summary className="cursor-pointer">Log of #{data.deploy?.number}</summary>
      <Output label={`Log of ${app.slug}`} className="mt-2 max-h-96">
        {data.lines.map(({ at, stream, text }) => `${at.slice(11, 19)} ${stream.padEnd(5)} ${text}`).join('\n')}
      </Output>
    </details>
  )
}

function causeOf({ cause, rollback_of }: Deploy): string {
  if (cause === 'rollback') return `rollback to #${rollback_of}`
  return cause === 'request' ? 'manual deploy' : 'change on the default branch'
}
