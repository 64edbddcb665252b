import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { Answer } from '../../components/answer.tsx'
import { auditPages, me } from '../../queries.ts'
import { Button } from '../../ui/button.tsx'
import { Card, Empty } from '../../ui/card.tsx'
import { Time } from '../../ui/time.tsx'

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

function Events({ accountId }: { accountId: string }) {
  const found = useInfiniteQuery(auditPages(accountId))
  return (
    <Answer of={found} what="the audit">
      {({ pages }) => {
        const events = pages.flatMap(({ data }) => data)
        if (events.length === 0) return <Empty>Nothing was changed yet.</Empty>
        return (
          <Card>
            <div className="overflow-x-auto" tabIndex={0} role="region" aria-label="Who changed what">
              <table className="w-full text-sm">
                <thead className="text-left text-dim">
                  <tr className="border-b border-line">
                    {['When', 'What', 'Of', 'By', 'From'].map((head) => (
                      <th key={head} scope="col" className="px-4 py-2 font-normal">
                        {head}
                      </th>
                    ))}
                  </tr>
                </thead>
                <tbody>
                  {events.map((event) => (
                    <tr key={event.event_id} className="border-b border-line last:border-0">
                      <td className="px-4 py-1.5">
                        <Time at={event.at} />
                      </td>
                      <td className="px-4 py-1.5 font-mono whitespace-nowrap">{event.action}</td>
                      <td className="px-4 py-1.5 font-mono whitespace-nowrap text-dim">{event.object_id}</td>
                      <td className="px-4 py-1.5 whitespace-nowrap text-dim">
                        {event.session_id === null ? event.actor_kind : `agent of ${event.session_id.slice(0, 8)}`}
                      </td>
                      <td className="px-4 py-1.5 whitespace-nowrap text-dim">{event.address ?? ''}</td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
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
  )
}
