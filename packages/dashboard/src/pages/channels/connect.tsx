import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { api, reply } from '../../api.ts'
import { useInvalidate } from '../../cache/invalidate.ts'
import { Failure } from '../../components/failure.tsx'
import type { ChatSetup } from './queries.ts'
import { Button } from '../../ui/button.tsx'
import { Card } from '../../ui/card.tsx'
import { Command } from '../../ui/copy.tsx'
import { Form, Input } from '../../ui/field.tsx'
import { Notice } from '../../ui/notice.tsx'

/** Setup in four steps. The third one is a form. */
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
          1. At <code className="font-mono">api.slack.com/apps</code>, choose “Create New App”, then “From a manifest”,
          and paste this manifest:
        </p>
        <details>
          <summary className="cursor-pointer text-dim">Show the manifest with this project's scopes and URLs</summary>
          <div className="mt-2 max-h-80 overflow-auto">
            <Command>{JSON.stringify(setup.app_manifest, null, 2)}</Command>
          </div>
        </details>
        <p>2. Install the app and invite it to the channel:</p>
        <Command>/invite @svc</Command>
        <p>3. Connect the channel. Slack shows its ID at the bottom of the channel details.</p>
      </div>
      <ConnectForm projectId={projectId} />
      <p className="px-4 pb-3 text-sm">4. On the app's “Event Subscriptions” page, let Slack verify the request URL.</p>
    </Card>
  )
}

function ConnectForm({ projectId }: { projectId: string }) {
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
    onSettled: useInvalidate(['project', projectId, 'channels']),
    onSuccess: () => {
      setConversation('')
      setToken('')
      setSecret('')
    },
  })
  const refusal =
    conversation === ''
      ? 'Enter the channel ID'
      : token === ''
        ? 'Enter the bot token'
        : secret === ''
          ? 'Enter the signing secret'
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
          label="Channel ID"
          hint="C0123456789"
          value={conversation}
          autoComplete="off"
          onChange={(text) => setConversation(text.trim())}
        />
        <Input
          label="Bot User OAuth Token"
          hint="xoxb-…, from “OAuth & Permissions”"
          type="password"
          value={token}
          autoComplete="off"
          onChange={(text) => setToken(text.trim())}
        />
        <Input
          label="Signing secret"
          hint="From “Basic Information”"
          type="password"
          value={secret}
          autoComplete="off"
          onChange={(text) => setSecret(text.trim())}
        />
        <div className="flex basis-full flex-wrap items-center gap-4">
          <label className="inline-flex items-center gap-2 text-sm">
            <input
              type="checkbox"
              checked={allowUnlinked}
              onChange={(event) => setAllowUnlinked(event.target.checked)}
            />
            Let unlinked people in the workspace start sessions on your behalf
          </label>
          <Button type="submit" kind="primary" busy={connect.isPending} disabledReason={refusal}>
            Connect channel
          </Button>
        </div>
      </Form>
    </>
  )
}
