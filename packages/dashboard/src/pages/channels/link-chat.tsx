import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api, reply } from '../../api.ts'
import { Answer } from '../../components/answer.tsx'
import { Failure } from '../../components/failure.tsx'
import { linkCode } from '../../queries.ts'
import { Button } from '../../ui/button.tsx'
import { Card } from '../../ui/card.tsx'
import { Notice } from '../../ui/notice.tsx'
import { Time } from '../../ui/time.tsx'

/** Where the app's invitation leads. The code is behind the #, which no server and no log sees. */
export function LinkChatPage() {
  const [code] = useState(() => location.hash.slice(1))
  return (
    <div className="mx-auto flex max-w-xl flex-col gap-6">
      <h1 className="text-xl font-semibold">Link a chat user to yourself</h1>
      {/^[\w-]{10,100}$/.test(code) ? (
        <Asked code={code} />
      ) : (
        <Notice tone="warn" title="This address has no code.">
          Mention the app in a connected channel and write “link”: it answers to you alone, with an address.
        </Notice>
      )}
    </div>
  )
}

function Asked({ code }: { code: string }) {
  const found = useQuery(linkCode(code))
  const link = useMutation({ mutationFn: () => reply(api.POST('/v1/channel-links', { body: { code } })) })
  if (link.data !== undefined)
    return (
      <Notice tone="neutral" title={`${link.data.chat_user_name} of ${link.data.workspace_name} acts as you now.`}>
        Go back to the chat and ask again. <code className="font-mono">svc channels unlink</code> ends it.
      </Notice>
    )
  return (
    <Answer of={found} what="the code">
      {(asked) => (
        <Card title="Is this you?">
          <div className="flex flex-col gap-3 px-4 py-3">
            {link.error !== null && <Failure error={link.error} />}
            {asked.chat_user_email !== null &&
              asked.user_email !== null &&
              asked.chat_user_email !== asked.user_email && (
                <Notice tone="warn" title="The addresses differ. Are you sure this is you?" />
              )}
            <dl className="grid grid-cols-[auto_1fr] gap-x-4 gap-y-1">
              <dt className="text-dim">In {asked.workspace_name}</dt>
              <dd className="min-w-0 font-medium break-words">
                {asked.chat_user_name} {asked.chat_user_email !== null && `<${asked.chat_user_email}>`}{' '}
                <code className="font-mono text-xs text-dim">{asked.chat_user_id}</code>
              </dd>
              <dt className="text-dim">Here</dt>
              <dd className="min-w-0 font-medium break-words">
                {asked.user_name} {asked.user_email !== null && `<${asked.user_email}>`}
              </dd>
              <dt className="text-dim">In</dt>
              <dd>
                {asked.account_name}, from a channel of {asked.project_name}
              </dd>
              <dt className="text-dim">Until</dt>
              <dd>
                <Time at={asked.expires_at} />
              </dd>
            </dl>
            <p className="text-sm text-dim">
              Whoever writes as {asked.chat_user_name} there will start sessions and merge as you. Do not confirm what
              somebody else sent you.
            </p>
            <div>
              <Button kind="primary" busy={link.isPending} onClick={() => link.mutate()}>
                Yes, that is me
              </Button>
            </div>
          </div>
        </Card>
      )}
    </Answer>
  )
}
