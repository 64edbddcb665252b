import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, reply } from '../../api.ts'
import { Failure } from '../../components/failure.tsx'
import type { ChatSetup } from '../../queries.ts'
import { Button } from '../../ui/button.tsx'
import { Card } from '../../ui/card.tsx'
import { Command } from '../../ui/copy.tsx'
import { Form, Input } from '../../ui/field.tsx'
import { Notice } from '../../ui/notice.tsx'

/** Four steps, the third of which is a form. */
export function ConnectChannel({
  projectId,
  setup,
  isFirst,
}: {
  projectId: string
  setup: ChatSetup
  isFirst: boolean
}) {
  return (
    <Card title={isFirst ? 'Connect Slack' : 'Connect another channel'}>
      <div className="flex flex-col gap-4 px-4 py-3 text-sm">
        {setup.warning !== null && <Notice tone="warn" title={setup.warning} />}
        <p>
          1. At <code className="font-mono">api.slack.com/apps</code> choose “Create New App”, “From a manifest”, and
          paste this:
        </p>
        <details>
          <summary className="cursor-pointer text-dim">
            The manifest, with the scopes and addresses of this project
          </summary>
          <div className="mt-2 max-h-80 overflow-auto">
            <Command>{JSON.stringify(setup.app_manifest, null, 2)}</Command>
          </div>
        </details>
        <p>2. Install the app, and invite it in the channel:</p>
        <Command>/invite @svc</Command>
        <p>3. Connect the channel. Its id stands at the end of its details in Slack.</p>
      </div>
      <ConnectForm projectId={projectId} />
      <p className="px-4 pb-3 text-sm">
        4. On the app’s page “Event Subscriptions” let Slack verify the request URL, which answers from then on.
      </p>
    </Card>
  )
}

function ConnectForm({ projectId }: { projectId: string }) {
  const queries = useQueryClient()
  const [conversation, setConversation] = useState('')
  const [token, setToken] = useState('')
  const [secret, setSecret] = useState('')
  const [allowUnlinked, setAllowUnlinked] = useState(false)
  const connect = useMutation({
    mutationFn: () =>
      reply(
        api.POST('/v1/projects/{projectId}/channels', {
          params: { path: { projectId } },
          body: {
            platform: 'slack',
            conversation_id: conversation,
            bot_token: token,
            signing_secret: secret,
            allow_unlinked: allowUnlinked,
          },
        }),
      ),
    onSettled: () => queries.invalidateQueries({ queryKey: ['project', projectId, 'channels'] }),
    onSuccess: () => {
      setConversation('')
      setToken('')
      setSecret('')
    },
  })
  const refusal =
    conversation === ''
      ? 'Give the id of the channel'
      : token === ''
        ? 'Give the bot token'
        : secret === ''
          ? 'Give the signing secret'
          : null
  return (
    <>
      {connect.error !== null && (
        <div className="px-4">
          <Failure error={connect.error} />
        </div>
      )}
      <Form onSubmit={() => refusal === null && !connect.isPending && connect.mutate()}>
        <Input
          label="Channel id"
          hint="C0123456789"
          value={conversation}
          autoComplete="off"
          onChange={(event) => setConversation(event.target.value.trim())}
        />
        <Input
          label="Bot User OAuth Token"
          hint="xoxb-…, from “OAuth & Permissions”"
          type="password"
          value={token}
          autoComplete="off"
          onChange={(event) => setToken(event.target.value.trim())}
        />
        <Input
          label="Signing secret"
          hint="From “Basic Information”"
          type="password"
          value={secret}
          autoComplete="off"
          onChange={(event) => setSecret(event.target.value.trim())}
        />
        <div className="flex basis-full flex-wrap items-center gap-4">
          <label className="inline-flex items-center gap-2 text-sm">
            <input
              type="checkbox"
              checked={allowUnlinked}
              onChange={(event) => setAllowUnlinked(event.target.checked)}
            />
            People of the workspace who are not linked may start sessions, in your name
          </label>
          <Button type="submit" kind="primary" busy={connect.isPending} disabledReason={refusal}>
            Connect
          </Button>
        </div>
      </Form>
    </>
  )
}
