import { useState } from 'react'
import { SendForm, useSend } from '../../components/requests.tsx'
import { useProject } from '../../components/shell/project-shell.tsx'
import type { ChatSetup } from './queries.ts'
import { Card, Notice } from '../../ui/layout.tsx'
import { Command } from '../../ui/text.tsx'
import { Input, useFields } from '../../ui/form.tsx'

export function ConnectChannel({ setup, isFirst }: { setup: ChatSetup; isFirst: boolean }) {
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
      <ConnectForm />
      <p className="px-4 pb-3 text-sm">4. On the app's “Event Subscriptions” page, let Slack verify the request URL.</p>
    </Card>
  )
}

const nothing = { conversation_id: '', bot_token: '', signing_secret: '' }

function ConnectForm() {
  const { project_id: projectId } = useProject()
  const { values, set, field } = useFields(nothing)
  const trimmed = (name: keyof typeof nothing) => ({
    ...field(name),
    autoComplete: 'off',
    onChange: (text: string) => set({ [name]: text.trim() }),
  })
  const [allowUnlinked, setAllowUnlinked] = useState(false)
  const connect = useSend('POST', '/v1/projects/{projectId}/channels', {
    path: { projectId },
    refetch: [['project', projectId, 'channels']],
    onSuccess: () => set(nothing),
  })
  return (
    <SendForm
      of={connect}
      submit="Connect channel"
      refusal={refusalOf(values)}
      onSubmit={() => connect.mutate({ platform: 'slack', ...values, allow_unlinked: allowUnlinked })}
    >
      <Input label="Channel ID" hint="C0123456789" {...trimmed('conversation_id')} />
      <Input
        label="Bot User OAuth Token"
        hint="xoxb-…, from “OAuth & Permissions”"
        type="password"
        {...trimmed('bot_token')}
      />
      <Input label="Signing secret" hint="From “Basic Information”" type="password" {...trimmed('signing_secret')} />
      <label className="flex basis-full! items-center gap-2 text-sm">
        <input type="checkbox" checked={allowUnlinked} onChange={(event) => setAllowUnlinked(event.target.checked)} />
        Let unlinked people in the workspace start sessions on your behalf
      </label>
    </SendForm>
  )
}

function refusalOf({ conversation_id, bot_token, signing_secret }: typeof nothing): string | null {
  if (conversation_id === '') return 'Enter the channel ID'
  if (bot_token === '') return 'Enter the bot token'
  return signing_secret === '' ? 'Enter the signing secret' : null
}
