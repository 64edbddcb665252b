import { useMutation, useQuery } from '@tanstack/react-query'
import { api, onlyOnce, reply } from '../../api.ts'
import { useInvalidate } from '../../cache/invalidate.ts'
import { QueryResult } from '../../components/query-result.tsx'
import { Failure } from '../../components/failure.tsx'
import { ManifestIssues } from '../../components/manifest-issues.tsx'
import { useProject } from '../../components/shell/project-shell.tsx'
import { useWriteRefusal } from '../../components/role.ts'
import { type App, appLog, apps } from './queries.ts'
import { Badge, type Tone } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { Card, Empty, Row, Rows } from '../../ui/card.tsx'
import { Time } from '../../ui/time.tsx'
import { Page } from '../../ui/page.tsx'

type Deploy = App['deploys'][number]

const tones: Partial<Record<App['state'] | Deploy['status'], Tone>> = {
  ...{ running: 'good', restarting: 'warn', deploying: 'accent', failed: 'bad' },
  ...{ queued: 'accent', building: 'accent', starting: 'accent' },
}

const example = `[[apps]]
slug = "site"
build = "npm ci && npm run build"
command = "npm run serve"  # listens on $PORT; or static_dir = "public"`

export function AppsPage() {
  const { project_id } = useProject()
  const found = useQuery(apps(project_id))
  return (
    <Page title="Apps">
      <QueryResult of={found} what="apps">
        {({ apps: all, errors }) => (
          <>
            <ManifestIssues issues={errors} />
            {all.length === 0 ? (
              <Card>
                <Empty command={example}>
                  No apps yet. Define one in svc.toml; it deploys when the file reaches the default branch:
                </Empty>
              </Card>
            ) : (
              all.map((each) => <AppCard key={each.slug} projectId={project_id} app={each} />)
            )}
          </>
        )}
      </QueryResult>
    </Page>
  )
}

function AppCard({ projectId, app }: { projectId: string; app: App }) {
  const writeRefusal = useWriteRefusal(useProject().account_id)
  const path = { projectId, slug: app.slug }
  const settle = { onSettled: useInvalidate(['project', projectId, 'apps']) }
  const deploy = useMutation({
    mutationFn: () =>
      reply(api.POST('/v1/projects/{projectId}/apps/{slug}/deploy', { params: { path, header: onlyOnce() } })),
    ...settle,
  })
  const stop = useMutation({
    mutationFn: () => reply(api.POST('/v1/projects/{projectId}/apps/{slug}/stop', { params: { path } })),
    ...settle,
  })
  const back = useMutation({
    mutationFn: (number: number) =>
      reply(
        api.POST('/v1/projects/{projectId}/apps/{slug}/rollback', {
          params: { path, header: onlyOnce() },
          body: { deploy: number },
        }),
      ),
    ...settle,
  })
  const error = deploy.error ?? stop.error ?? back.error
  const deployRefusal = writeRefusal ?? (app.state === 'off' || app.state === 'disabled' ? app.reason : null)
  return (
    <Card
      title={app.slug}
      aside={
        <span className="flex flex-wrap items-center gap-2">
          <Badge tone={tones[app.state] ?? 'neutral'}>{app.state}</Badge>
          <Button busy={deploy.isPending} disabledReason={deployRefusal} onClick={() => deploy.mutate()}>
            Deploy
          </Button>
          <Button
            busy={stop.isPending}
            disabledReason={writeRefusal ?? (app.live === null && app.next === null ? 'The app is not running' : null)}
            onClick={() => stop.mutate()}
          >
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
        {app.reason !== null && <p className="break-words text-dim">{app.reason}</p>}
      </div>
      {app.deploys.length === 0 ? (
        <Empty>No deploys yet. Press Deploy to start one.</Empty>
      ) : (
        <Rows label={`Deploys of ${app.slug}`}>
          {app.deploys.map((each) => (
            <Row key={each.deploy_id}>
              <span className="text-sm font-medium">#{each.number}</span>
              <Badge tone={tones[each.status] ?? 'neutral'}>{each.status}</Badge>
              <code className="text-xs">{each.commit_sha.slice(0, 12)}</code>
              <span className="min-w-40 flex-1 text-sm break-words text-dim">{each.error ?? causeOf(each)}</span>
              <Time at={each.created_at} />
              {each.ready_at !== null && each.deploy_id !== app.live?.deploy_id && (
                <Button
                  kind="quiet"
                  aria-label={`Roll back ${app.slug} to #${each.number}`}
                  busy={back.isPending}
                  disabledReason={deployRefusal}
                  onClick={() => back.mutate(each.number)}
                >
                  Roll back
                </Button>
              )}
            </Row>
          ))}
        </Rows>
      )}
      <AppLog projectId={projectId} app={app} />
    </Card>
  )
}

function AppLog({ projectId, app }: { projectId: string; app: App }) {
  const found = useQuery(appLog(projectId, app.slug))
  const lines = found.data?.lines ?? []
  if (lines.length === 0) return null
  return (
    <details className="border-t border-line px-4 py-3 text-sm">
      <summary className="cursor-pointer">Log of #{found.data?.deploy?.number}</summary>
      <pre
        tabIndex={0}
        aria-label={`Log of ${app.slug}`}
        className="mt-2 max-h-96 overflow-auto rounded-md bg-sunken p-3 text-xs break-all whitespace-pre-wrap"
      >
        {lines.map(({ at, stream, text }) => `${at.slice(11, 19)} ${stream.padEnd(5)} ${text}`).join('\n')}
      </pre>
    </details>
  )
}

function causeOf({ cause, rollback_of }: Deploy): string {
  if (cause === 'rollback') return `rollback to #${rollback_of}`
  return cause === 'request' ? 'manual deploy' : 'change on the default branch'
}
