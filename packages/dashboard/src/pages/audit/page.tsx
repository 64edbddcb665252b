import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { QueryResult, Read } from '../../components/requests.tsx'
import { auditPages } from './queries.ts'
import { me, members } from '../account/queries.ts'
import { projects } from '../projects/queries.ts'
import { Button, Select, sideBySide } from '../../ui/form.tsx'
import { Card, Empty, Page } from '../../ui/layout.tsx'
import { AuditTable } from './table.tsx'

const route = getRouteApi('/shell/account/audit')

export function AuditPage() {
  return (
    <Page title="Audit log">
      <Read query={me} what="your account">
        {({ account }) => <Events accountId={account.account_id} />}
      </Read>
    </Page>
  )
}

/** The first part of an action, by the names of the service. */
const nouns = [
  ['', 'All actions'],
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
  const filter = route.useSearch()
  const navigate = route.useNavigate()
  const found = useInfiniteQuery(auditPages(accountId, filter))
  const { data: people = [] } = useQuery(members(accountId))
  const { data: all = [] } = useQuery(projects)
  const choose = (name: 'action' | 'member' | 'project') => (value: string) => {
    const { [name]: _, ...others } = filter
    void navigate({ search: value === '' ? others : { ...others, [name]: value }, replace: true })
  }
  return (
    <>
      <div className={sideBySide}>
        <Select label="Action" options={nouns} value={filter.action ?? ''} onChange={choose('action')} />
        <Select
          label="Member"
          options={[['', 'All members'], ...people.map(({ user_id, name }) => [user_id, name] as const)]}
          value={filter.member ?? ''}
          onChange={choose('member')}
        />
        <Select
          label="Project"
          options={[
            ['', 'All projects and the account'],
            ...all.map(({ project_id, name }) => [project_id, name] as const),
          ]}
          value={filter.project ?? ''}
          onChange={choose('project')}
        />
      </div>
      <QueryResult of={found} what="the audit log">
        {(events) => (
          <Card>
            {events.length === 0 ? (
              <Empty>No matching events. Change the filters to see more.</Empty>
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
        )}
      </QueryResult>
    </>
  )
}
