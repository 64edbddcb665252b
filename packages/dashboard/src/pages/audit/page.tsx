import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { Answer } from '../../components/answer.tsx'
import { auditPages, me, members, projects } from '../../queries.ts'
import { Button } from '../../ui/button.tsx'
import { Card, Empty } from '../../ui/card.tsx'
import { Select, sideBySide } from '../../ui/field.tsx'
import { AuditTable } from './table.tsx'

const route = getRouteApi('/shell/account/audit')

export function AuditPage() {
  const found = useQuery(me)
  return (
    <div className="flex flex-col gap-6">
      <h1 className="text-xl font-semibold">Audit</h1>
      <Answer of={found} what="your account">
        {({ account }) => <Events accountId={account.account_id} />}
      </Answer>
    </div>
  )
}

/** Nouns of what is told, as the service names them. */
const nouns = [
  ['', 'Everything'],
  ['change_request', 'Change requests'],
  ['session', 'Sessions'],
  ['project', 'Projects and their settings'],
  ['secret', 'Secrets'],
  ['token', 'Tokens'],
  ['member', 'Members'],
  ['user', 'Sign-ins'],
  ['trigger', 'Triggers'],
  ['app', 'Apps'],
  ['connector', 'Connectors'],
  ['channel', 'Channels'],
  ['webhook', 'Webhooks'],
] as const

function Events({ accountId }: { accountId: string }) {
  const asked = route.useSearch()
  const navigate = route.useNavigate()
  const found = useInfiniteQuery(auditPages(accountId, asked))
  const { data: people = [] } = useQuery(members(accountId))
  const { data: all = [] } = useQuery(projects)
  const choose = (name: 'action' | 'member' | 'project') => (event: { target: { value: string } }) => {
    const { [name]: _, ...others } = asked
    const { value } = event.target
    void navigate({ search: value === '' ? others : { ...others, [name]: value }, replace: true })
  }
  return (
    <>
      <div className={sideBySide}>
        <Select label="What" options={nouns} value={asked.action ?? ''} onChange={choose('action')} />
        <Select
          label="By"
          options={[['', 'Everybody'], ...people.map(({ user_id, name }) => [user_id, name] as const)]}
          value={asked.member ?? ''}
          onChange={choose('member')}
        />
        <Select
          label="In"
          options={[
            ['', 'All projects, and the account'],
            ...all.map(({ project_id, name }) => [project_id, name] as const),
          ]}
          value={asked.project ?? ''}
          onChange={choose('project')}
        />
      </div>
      <Answer of={found} what="the audit">
        {({ pages }) => {
          const events = pages.flatMap(({ data }) => data)
          return (
            <Card>
              {events.length === 0 ? (
                <Empty>Nothing of that was changed yet.</Empty>
              ) : (
                <AuditTable events={events} people={people} projects={all} />
              )}
              {found.hasNextPage && (
                <div className="border-t border-line p-3 text-center">
                  <Button busy={found.isFetchingNextPage} onClick={() => void found.fetchNextPage()}>
                    Show more
                  </Button>
                </div>
              )}
            </Card>
          )
        }}
      </Answer>
    </>
  )
}
