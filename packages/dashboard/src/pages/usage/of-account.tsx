import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { Read, useSend } from '../../components/requests.tsx'
import { useAdminRefusal } from '../../components/role.ts'
import { paths } from '../../paths.ts'
import { me } from '../account/queries.ts'
import { projects } from '../projects/queries.ts'
import { Card, Page } from '../../ui/layout.tsx'
import { tokensThisMonth } from './amounts.ts'
import { CapForm, CapMeter } from './caps.tsx'
import { Days, Totals, UsedTable, defaultDays } from './figures.tsx'
import { accountUsage, type Usage } from './queries.ts'
import { SessionLink } from '../../components/links.tsx'

const route = getRouteApi('/shell/account/usage')

export function AccountUsagePage() {
  const { days = defaultDays } = route.useSearch()
  return (
    <Page title="Usage" aside={<Days chosen={days} />}>
      <Read query={me} what="your account">
        {({ account }) => <OfAccount accountId={account.account_id} days={days} />}
      </Read>
    </Page>
  )
}

function OfAccount({ accountId, days }: { accountId: string; days: number }) {
  return (
    <Read query={accountUsage(accountId, days)} what="the usage">
      {(usage) => (
        <>
          <Totals usage={usage} />
          <Caps accountId={accountId} usage={usage} days={days} />
          <ByProject usage={usage} />
          <BySession usage={usage} />
        </>
      )}
    </Read>
  )
}

/** The caps of the account and its projects. A project's usage is known only if the range covers the month. */
function Caps({ accountId, usage, days }: { accountId: string; usage: Usage; days: number }) {
  const all = useQuery(projects).data ?? []
  const save = useSend('PATCH', '/v1/accounts/{accountId}/usage', {
    path: { accountId },
    refetch: [['account', accountId, 'usage']],
  })
  const capped = all.filter(({ settings }) => settings.model_tokens_per_month !== null)
  return (
    <Card title="Spend caps">
      {usage.caps.map((cap) => (
        <CapMeter
          key={cap.scope}
          of="This month, whole account"
          label="Used of the account's cap"
          tokens={cap.tokens}
          taken={cap.tokens_taken}
        />
      ))}
      {days >= defaultDays &&
        capped.map((project) => (
          <CapMeter
            key={project.project_id}
            of={project.name}
            label={`Used of the cap of ${project.name}`}
            tokens={project.settings.model_tokens_per_month ?? 0}
            taken={tokensThisMonth(usage.models, project.project_id, usage.to)}
          />
        ))}
      <p className="px-4 pt-3 text-sm text-dim">
        {usage.caps.length === 0 && 'This account has no cap. '}
        At the cap, model calls stop until you raise it or the month ends. Set a project's cap on its usage page.
      </p>
      <CapForm
        labels={{ model_tokens_per_month: 'Account, per month' }}
        caps={{ model_tokens_per_month: usage.caps.find(({ scope }) => scope === 'account')?.tokens ?? null }}
        refusal={useAdminRefusal(accountId)}
        save={save}
      />
    </Card>
  )
}

function ByProject({ usage }: { usage: Usage }) {
  const all = useQuery(projects).data ?? []
  const ids = [...new Set([...usage.sessions, ...usage.models].map(({ project_id }) => project_id))]
  const rows = ids.map((id) => {
    const calls = usage.models.filter(({ project_id }) => project_id === id)
    const ran = usage.sandboxes.filter(({ project_id }) => project_id === id)
    const known = all.find(({ project_id }) => project_id === id)
    return {
      key: id,
      name:
        known === undefined ? (
          <span className="text-dim">Deleted project</span>
        ) : (
          <Link to={paths.projectUsage} params={{ project: known.slug }} className="font-medium hover:underline">
            {known.name}
          </Link>
        ),
      sandbox_seconds: ran.reduce((total, { seconds }) => total + seconds, 0),
      tokens_in: calls.reduce((total, { tokens_in }) => total + tokens_in, 0),
      tokens_out: calls.reduce((total, { tokens_out }) => total + tokens_out, 0),
    }
  })
  rows.sort((a, b) => b.tokens_in + b.tokens_out - a.tokens_in - a.tokens_out || b.sandbox_seconds - a.sandbox_seconds)
  return <UsedTable title="By project" of="Project" rows={rows} empty="No usage in this period." />
}

const shownMax = 50

function BySession({ usage }: { usage: Usage }) {
  const all = useQuery(projects).data ?? []
  const rows = usage.sessions.slice(0, shownMax).map((row) => {
    const known = all.find(({ project_id }) => project_id === row.project_id)
    const cap = known?.settings.model_tokens_per_session ?? null
    return {
      ...row,
      key: row.session_id,
      name:
        row.name === null || known === undefined ? (
          <span className="text-dim">Deleted session</span>
        ) : (
          <>
            <SessionLink project={known.slug} sessionId={row.session_id} className="font-medium hover:underline">
              {row.name}
            </SessionLink>
            <span className="block text-dim">{known.name}</span>
          </>
        ),
      reached: cap !== null && row.tokens_in + row.tokens_out >= cap,
    }
  })
  return (
    <UsedTable
      title={usage.sessions.length > shownMax ? `Top ${shownMax} sessions` : 'By session'}
      of="Session"
      rows={rows}
      empty="No sessions ran in this period."
    />
  )
}
