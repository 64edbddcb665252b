import { Failure, Read, useSend } from '../../components/requests.tsx'
import { Button } from '../../ui/form.tsx'
import { Card } from '../../ui/layout.tsx'
import { Command, Time } from '../../ui/text.tsx'
import { hostWebhook } from './queries.ts'

/** A webhook on the git host reports pushes at once, without waiting for the next poll. */
export function HostWebhook({ projectId }: { projectId: string }) {
  const query = hostWebhook(projectId)
  const rotate = useSend('POST', '/v1/projects/{projectId}/host-webhook/rotate', {
    path: { projectId },
    once: true,
    refetch: [query.queryKey],
  })
  return (
    <Card title="Push webhook">
      <div className="flex flex-col gap-3 px-4 py-3 text-sm">
        {rotate.error !== null && <Failure error={rotate.error} />}
        <Read query={query} what="the webhook">
          {({ url, secret, last_call_at, last_sender }) => (
            <>
              <p className="text-dim">
                To see pushes immediately, add a webhook for push events on the git host, with this URL, this secret,
                and content type JSON. Without it svc polls the branches.
              </p>
              <dl className="grid gap-x-4 gap-y-2 sm:grid-cols-[6rem_minmax(0,1fr)] sm:items-center">
                <dt className="text-dim">URL</dt>
                <dd className="min-w-0">
                  <Command>{url}</Command>
                </dd>
                <dt className="text-dim">Secret</dt>
                <dd className="min-w-0">
                  {secret === null ? (
                    'No secret yet. Calls are rejected until you create one.'
                  ) : (
                    <Command>{secret}</Command>
                  )}
                </dd>
                <dt className="text-dim">Last call</dt>
                <dd>
                  {last_call_at === null ? (
                    'Never'
                  ) : (
                    <>
                      <Time at={last_call_at} />
                      {last_sender !== null && ` · from ${last_sender}`}
                    </>
                  )}
                </dd>
              </dl>
              <div>
                <Button action={rotate}>{secret === null ? 'Create secret' : 'Replace secret'}</Button>
              </div>
            </>
          )}
        </Read>
      </div>
    </Card>
  )
}
