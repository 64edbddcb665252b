import { type ReactNode, useState } from 'react'
import { SendForm, useSend } from '../../components/requests.tsx'
import { useProject } from '../../components/shell/project-shell.tsx'
import type { ChatSetup } from './queries.ts'
import { Card, Notice } from '../../ui/layout.tsx'
import { Command } from '../../ui/text.tsx'
import { Input, sideBySide, useFields } from '../../ui/form.tsx'

/** The steps in their order. Slack can verify the URL once the server has the signing secret, which the third step saves. */
export function ConnectChannel({ setup, isFirst }: { setup: ChatSetup; isFirst: boolean }) {
  return (
    <Card title={isFirst ? 'Connect Slack' : 'Connect another channel'}>
      {setup.warning !== null && (
        <div className="px-4 pt-3">
          <Notice tone="warn" title={setup.warning} />
        </div>
      )}
      <ol aria-label="Steps" className="divide-y divide-line text-sm">
        <Step number={1} title="Create the Slack app">
          <p>
            At <code className="font-mono">api.slack.com/apps</code>, choose “Create New App”, then “From a manifest”,
            and paste this manifest:
          </p>
          <details>
            <summary className="cursor-pointer text-dim">Show the manifest with this project's scopes and URLs</summary>
            <div className="mt-2 max-h-80 overflow-auto">
              <Command>{JSON.stringify(setup.app_manifest, null, 2)}</Command>
            </div>
          </details>
        </Step>
        <Step number={2} title="Install the app and invite it to the channel">
          <Command>/invite @svc</Command>
        </Step>
        <Step number={3} title="Connect the channel">
          <p>Slack shows its ID at the bottom of the channel details.</p>
          <ConnectForm />
        </Step>
        <Step number={4} title="Let Slack verify the request URL">
          <p>Once the channel is connected, do this on the app's “Event Subscriptions” page.</p>
        </Step>
      </ol>
    </Card>
  )
}

function Step({ number, title, children }: { number: number; title: string; children: ReactNode }) {
  return (
    <li className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-3 px-4 py-3">
      <span aria-hidden className="grid size-5 place-items-center rounded-full bg-hover text-xs font-semibold text-dim">
        {number}
      </span>
      <div className="flex min-w-0 flex-col gap-2">
        <h3 className="font-medium">{title}</h3>
        {children}
      </div>
    </li>
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
      className={`py-1 ${sideBySide}`}
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
