/** The results of the conversation: changes, plan, change requests, timeline, usage, and its programs. */
import { Tabs } from '@base-ui/react/tabs'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { type ReactNode, Suspense } from 'react'
import { BranchName } from '../../../components/branch-name.tsx'
import { lazy } from '../../../components/lazy-code.tsx'
import { planIn, type PlanItem } from '@svc/contract/schemas/tool-outcome'
import { Check, Circle, CircleDot, X } from 'lucide-react'
import { useProject } from '../../../components/shell/project-shell.tsx'
import { LandingBadge } from '../../../components/status.tsx'
import { ChangeRequestLink } from '../../../components/links.tsx'
import { Loading, PanelSection } from '../../../ui/layout.tsx'
import { TabList } from '../../../ui/tabs.tsx'
import { Time } from '../../../ui/text.tsx'
import { summariesOfBranch } from '../../change-requests/queries.ts'
import { count, duration } from '../../usage/amounts.ts'
import { type Message, type Session, type Usage, usage } from '../queries.ts'
import { ChangesSection } from './changes.tsx'
import { panelId, withPanel } from './place.ts'
import { TimelineSection } from './timeline.tsx'

const PreviewPane = lazy(() => import('../preview/pane.tsx'), 'default')
const route = getRouteApi('/shell/projects/$project/sessions/$sessionId')

export function SessionPanel({
  session,
  messages,
  busy,
}: {
  session: Session
  messages: readonly Message[]
  busy: boolean
}) {
  const { panel = 'overview' } = route.useSearch()
  const navigate = route.useNavigate()
  const isPreview = panel === 'preview'
  return (
    <Tabs.Root
      id={panelId}
      value={panel}
      onValueChange={(next) =>
        void navigate({ search: (before) => withPanel(before, next), replace: true, resetScroll: false })
      }
      // On a phone the bar has two rows.
      className={`max-sm:scroll-mt-8 ${isPreview ? 'flex flex-col lg:h-full' : ''}`}
    >
      <div className="px-4 lg:sticky lg:top-0 lg:z-10 lg:bg-panel">
        <TabList
          label="Panel"
          tabs={[
            ['overview', 'Overview'],
            ['preview', 'Preview'],
          ]}
        />
      </div>
      <Tabs.Panel value="overview">
        <ChangesSection session={session} busy={busy} />
        <ChangeRequestsSection session={session} />
        <PlanSection messages={messages} />
        <TimelineSection session={session} />
        <UsageSection session={session} busy={busy} />
        <FactsSection session={session} busy={busy} />
      </Tabs.Panel>
      <Tabs.Panel value="preview" className="flex min-h-0 flex-1 flex-col">
        <Suspense fallback={<Loading what="the preview" />}>
          <PreviewPane session={session} />
        </Suspense>
      </Tabs.Panel>
    </Tabs.Root>
  )
}

function ChangeRequestsSection({ session }: { session: Session }) {
  const { slug } = useProject()
  const { data } = useQuery(summariesOfBranch(session.project_id, session.branch_name))
  if (data === undefined || data.change_requests.length === 0) return null
  return (
    <PanelSection title="Change requests">
      <ul aria-label="Change requests" className="flex flex-col gap-1.5">
        {data.change_requests.map((cr) => (
          <li key={cr.cr_id} className="flex min-w-0 items-center gap-2">
            <LandingBadge cr={cr} state={data.summaries?.[cr.cr_id]?.state ?? null} />
            <ChangeRequestLink
              project={slug}
              number={cr.number}
              className="min-w-0 truncate font-medium hover:underline"
            >
              #{cr.number} {cr.title}
            </ChangeRequestLink>
          </li>
        ))}
      </ul>
    </PanelSection>
  )
}

/** The newest plan of the agent. */
function planOf(messages: readonly Message[]): PlanItem[] | null {
  for (const { parts } of messages.toReversed())
    for (const part of parts.toReversed()) {
      const plan = part.type === 'tool' ? planIn(part) : null
      if (plan !== null) return plan
    }
  return null
}

const planLooks = {
  done: { Icon: Check, look: 'bg-good-soft text-good', label: 'done' },
  active: { Icon: CircleDot, look: 'bg-warn-soft text-warn', label: 'in progress' },
  pending: { Icon: Circle, look: 'text-faint', label: 'to do' },
  cancelled: { Icon: X, look: 'text-faint', label: 'cancelled' },
} as const

function PlanSection({ messages }: { messages: readonly Message[] }) {
  const plan = planOf(messages)
  if (plan === null || plan.length === 0) return null
  const done = plan.filter(({ state }) => state === 'done').length
  return (
    <PanelSection title="Plan" aside={`${done} of ${plan.length}`}>
      <ul aria-label="Plan" className="flex flex-col gap-1.5">
        {plan.map(({ text, state }, at) => {
          const { Icon, look, label } = planLooks[state]
          return (
            <li key={at} className="flex items-start gap-2">
              <span
                role="img"
                aria-label={label}
                className={`mt-0.5 grid size-4 flex-none place-items-center rounded-full ${look}`}
              >
                <Icon aria-hidden className="size-3" strokeWidth={2.5} />
              </span>
              <span
                className={`min-w-0 ${state === 'done' || state === 'cancelled' ? 'text-dim' : ''} ${state === 'cancelled' ? 'line-through' : ''}`}
              >
                {text}
              </span>
            </li>
          )
        })}
      </ul>
    </PanelSection>
  )
}

function UsageSection({ session, busy }: { session: Session; busy: boolean }) {
  const { data } = useQuery(usage(session, busy))
  if (data === undefined) return null
  const { totals, caps } = data
  const cap = caps.find(({ scope }) => scope === 'session') ?? caps[0]
  return (
    <PanelSection title="Usage">
      <dl className="flex flex-col gap-1">
        <Tokens of={totals} />
        <Fact name="Model calls">{count(totals.calls)}</Fact>
        <Fact name="Sandbox time">{duration(totals.sandbox_seconds)}</Fact>
        {cap !== undefined && (
          <Fact name={`Cap of the ${cap.scope}`}>
            {count(cap.tokens_taken)} of {count(cap.tokens)}
          </Fact>
        )}
      </dl>
    </PanelSection>
  )
}

/** Some providers count no tokens. */
function Tokens({ of: { calls, tokens_in: sent, tokens_out: received } }: { of: Usage['totals'] }) {
  if (calls > 0 && sent + received === 0) return <Fact name="Tokens">not reported</Fact>
  return (
    <Fact name={`${count(sent + received)} tokens`}>
      {count(sent)} in · {count(received)} out
    </Fact>
  )
}

function FactsSection({ session, busy }: { session: Session; busy: boolean }) {
  const { agent_name: agent, model, base_ref: base, branch_name: branch } = session
  return (
    <PanelSection title="Session">
      <dl className="flex flex-col gap-1">
        <Fact name="Agent">{agent}</Fact>
        {model !== null && <Fact name="Model">{model}</Fact>}
        <Fact name="Started from">{base}</Fact>
        <Fact name="Branch">
          <BranchName name={branch} />
        </Fact>
        <Fact name="Active">{busy ? 'now' : <Time at={session.last_active_at} />}</Fact>
      </dl>
    </PanelSection>
  )
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className="flex items-baseline justify-between gap-3">
      <dt className="flex-none">{name}</dt>
      <dd className="min-w-0 truncate text-sm text-dim tabular-nums">{children}</dd>
    </div>
  )
}
