import { getRouteApi } from '@tanstack/react-router'
import { Read, useSend } from '../../components/requests.tsx'
import { useProject } from '../../components/shell/project-shell.tsx'
import { useAdminRefusal } from '../../components/role.ts'
import { Card, Page } from '../../ui/layout.tsx'
import { count } from './amounts.ts'
import { CapForm, CapMeter } from './caps.tsx'
import { Days, Totals, UsedTable, defaultDays } from './figures.tsx'
import { projectUsage, type Usage } from './queries.ts'
import { StorageCard } from './storage-card.tsx'
import { SessionLink } from '../../components/links.tsx'

const route = getRouteApi('/shell/projects/$project/usage')

export function ProjectUsagePage() {
  const { project_id: projectId } = useProject()
  const { days = defaultDays } = route.useSearch()
  return (
    <Page title="Usage" aside={<Days chosen={days} />}>
      <Read query={projectUsage(projectId, days)} what="the usage">
        {(usage) => (
          <>
            <Totals usage={usage} />
            <StorageCard storage={usage.storage} />
            <Caps usage={usage} />
            <Sessions usage={usage} />
            <Models usage={usage} />
          </>
        )}
      </Read>
    </Page>
  )
}

function Caps({ usage }: { usage: Usage }) {
  const { settings, project_id: projectId, account_id: accountId } = useProject()
  const save = useSend('PATCH', '/v1/projects/{projectId}', {
    request: (settings: Record<'model_tokens_per_month' | 'model_tokens_per_session', number | null>) => ({
      path: { projectId },
      body: { settings },
    }),
    refetch: [['projects'], ['project', projectId, 'usage']],
  })
  return (
    <Card title="Spend caps">
      {usage.caps.map((cap) => (
        <CapMeter
          key={cap.scope}
          of="This month, all sessions"
          label="Used of the project's cap"
          tokens={cap.tokens}
          taken={cap.tokens_taken}
        />
      ))}
      <p className="px-4 pt-3 text-sm text-dim">
        {usage.caps.length === 0 && 'This project has no cap. '}
        At the cap, model calls stop until you raise it. A monthly cap resets when the month ends.
      </p>
      <CapForm
        labels={{ model_tokens_per_month: 'Project, per month', model_tokens_per_session: 'Each session' }}
        caps={settings}
        refusal={useAdminRefusal(accountId)}
        save={save}
      />
    </Card>
  )
}

function Sessions({ usage: { sessions } }: { usage: Usage }) {
  const { slug: project, settings } = useProject()
  const cap = settings.model_tokens_per_session
  return (
    <UsedTable
      title="By session"
      of="Session"
      empty="No sessions ran in this period."
      rows={sessions.map((row) => ({
        ...row,
        key: row.session_id,
        name:
          row.name === null ? (
            <span className="text-dim">Deleted session</span>
          ) : (
            <SessionLink project={project} sessionId={row.session_id} className="font-medium hover:underline">
              {row.name}
            </SessionLink>
          ),
        reached: cap !== null && row.tokens_in + row.tokens_out >= cap,
      }))}
    />
  )
}

function Models({ usage: { models } }: { usage: Usage }) {
  const byModel = Map.groupBy(models, ({ model }) => model)
  if (byModel.size === 0) return null
  return (
    <Card title="By model">
      <ul aria-label="Models" className="divide-y divide-line">
        {[...byModel].map(([model, rows]) => {
          const sum = (read: (row: (typeof rows)[number]) => number) => rows.reduce((all, row) => all + read(row), 0)
          return (
            <li key={model} className="flex flex-wrap items-baseline gap-x-3 px-4 py-2.5 text-sm">
              <code className="min-w-40 flex-1 font-mono break-all">{model}</code>
              <span className="text-dim">
                {count(sum(({ calls }) => calls))} {sum(({ calls }) => calls) === 1 ? 'call' : 'calls'},{' '}
                {count(sum((row) => row.tokens_in + row.tokens_out))} tokens
              </span>
            </li>
          )
        })}
      </ul>
    </Card>
  )
}
