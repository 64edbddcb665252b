import { useState } from 'react'
import { Failure, Read, useSend } from '../../components/requests.tsx'
import { linkCode } from './queries.ts'
import { Button } from '../../ui/form.tsx'
import { Card, Notice, Page } from '../../ui/layout.tsx'
import { Time } from '../../ui/text.tsx'

/** The target of the chat app's link. The code is in the URL's fragment, which reaches no server and no log. */
export function LinkChatPage() {
  const [code] = useState(() => location.hash.slice(1))
  return (
    <Page narrow title="Link your chat user">
      {/^[\w-]{10,100}$/.test(code) ? (
        <ConfirmLink code={code} />
      ) : (
        <Notice tone="warn" title="This link has no code">
          Mention the app in a connected channel and write “link”. It replies privately with a new link.
        </Notice>
      )}
    </Page>
  )
}

function ConfirmLink({ code }: { code: string }) {
  const link = useSend('POST', '/v1/channel-links', {})
  if (link.data !== undefined)
    return (
      <Notice tone="neutral" title={`${link.data.chat_user_name} in ${link.data.workspace_name} is now linked to you`}>
        Return to the chat and repeat your message. To unlink, run{' '}
        <code className="font-mono">svc channels unlink</code>.
      </Notice>
    )
  return (
    <Read query={linkCode(code)} what="the code">
      {(claim) => (
        <Card title="Is this you?">
          <div className="flex flex-col gap-3 px-4 py-3">
            {link.error !== null && <Failure error={link.error} />}
            {claim.chat_user_email !== null &&
              claim.user_email !== null &&
              claim.chat_user_email !== claim.user_email && (
                <Notice tone="warn" title="The email addresses differ. Make sure this is you." />
              )}
            <dl className="grid grid-cols-[auto_1fr] gap-x-4 gap-y-1">
              <dt className="text-dim">Chat user in {claim.workspace_name}</dt>
              <dd className="min-w-0 font-medium break-words">
                {claim.chat_user_name} {claim.chat_user_email !== null && `<${claim.chat_user_email}>`}{' '}
                <code className="font-mono text-xs text-dim">{claim.chat_user_id}</code>
              </dd>
              <dt className="text-dim">Your user</dt>
              <dd className="min-w-0 font-medium break-words">
                {claim.user_name} {claim.user_email !== null && `<${claim.user_email}>`}
              </dd>
              <dt className="text-dim">Account</dt>
              <dd>
                {claim.account_name}, from a channel of {claim.project_name}
              </dd>
              <dt className="text-dim">Expires</dt>
              <dd>
                <Time at={claim.expires_at} />
              </dd>
            </dl>
            <p className="text-sm text-dim">
              Messages from {claim.chat_user_name} will start sessions and merge as you. Don't confirm a link that
              someone else sent you.
            </p>
            <div>
              <Button kind="primary" busy={link.isPending} onClick={() => link.mutate({ code })}>
                Link to me
              </Button>
            </div>
          </div>
        </Card>
      )}
    </Read>
  )
}
