import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { api, onlyOnce, reply } from '../../api.ts'
import { askAgain } from '../../ask-again.ts'
import { Answer } from '../../components/answer.tsx'
import { Failure } from '../../components/failure.tsx'
import { Button } from '../../ui/button.tsx'
import { Card } from '../../ui/card.tsx'
import { Command } from '../../ui/copy.tsx'
import { Time } from '../../ui/time.tsx'
import { hostWebhook } from './queries.ts'

/** What to enter at the git host, so that its pushes are seen at once and not at the next look. */
export function HostWebhook({ projectId }: { projectId: string }) {
  const queries = useQueryClient()
  const found = useQuery(hostWebhook(projectId))
  const rotate = useMutation({
    mutationFn: () =>
      reply(
        api.POST('/v1/projects/{projectId}/host-webhook/rotate', {
          params: { path: { projectId }, header: onlyOnce() },
        }),
      ),
    onSettled: askAgain(queries, ['project', projectId, 'host-webhook']),
  })
  return (
    <Card title="See pushes at once: a webhook at the git host">
      <div className="flex flex-col gap-3 px-4 py-3 text-sm">
        {rotate.error !== null && <Failure error={rotate.error} />}
        <Answer of={found} what="the webhook">
          {({ url, secret, last_call_at, last_sender }) => (
            <>
              <p className="text-dim">
                Add a webhook for pushes there, with this address and this secret, as JSON. Without it the branches are
                looked at every now and then.
              </p>
              <dl className="grid gap-x-4 gap-y-2 sm:grid-cols-[6rem_minmax(0,1fr)] sm:items-center">
                <dt className="text-dim">Address</dt>
                <dd className="min-w-0">
                  <Command>{url}</Command>
                </dd>
                <dt className="text-dim">Secret</dt>
                <dd className="min-w-0">
                  {secret === null ? 'None was made yet, so no call is taken.' : <Command>{secret}</Command>}
                </dd>
                <dt className="text-dim">Last call</dt>
                <dd>
                  {last_call_at === null ? (
                    'never'
                  ) : (
                    <>
                      <Time at={last_call_at} />
                      {last_sender !== null && `, as ${last_sender} sends it`}
                    </>
                  )}
                </dd>
              </dl>
              <div>
                <Button busy={rotate.isPending} onClick={() => rotate.mutate()}>
                  {secret === null ? 'Make a secret' : 'Make another secret'}
                </Button>
              </div>
            </>
          )}
        </Answer>
      </div>
    </Card>
  )
}
