import { Failure, Read, useSend } from '../../components/requests.tsx'
import { ConfirmButton } from '../../components/confirm-button.tsx'
import { useProject } from '../../components/shell/project-shell.tsx'
import { type Channel, channel as one, type ChannelDetail } from './queries.ts'
import { Badge, Time, type Tone } from '../../ui/text.tsx'
import { Button } from '../../ui/form.tsx'
import { Card, Notice, Row, Rows } from '../../ui/layout.tsx'
import { NamedSessionLink } from '../../components/links.tsx'

function stateOf({ error, waiting }: Channel): [Tone, string] {
  if (error !== null) return ['bad', 'delivery failing']
  return waiting > 0 ? ['warn', `${waiting} pending`] : ['good', 'connected']
}

export function ChannelCard({ channel }: { channel: Channel }) {
  const { project_id: projectId } = useProject()
  const path = { projectId, channelId: channel.channel_id }
  const settle = { refetch: [['project', projectId, 'channels']] }
  const test = useSend('POST', '/v1/projects/{projectId}/channels/{channelId}/test', { path, ...settle })
  const edit = useSend('PATCH', '/v1/projects/{projectId}/channels/{channelId}', { path, ...settle })
  const remove = useSend('DELETE', '/v1/projects/{projectId}/channels/{channelId}', { path, ...settle })
  const name = `#${channel.conversation_name}`
  const failure = test.error ?? edit.error ?? remove.error
  const [tone, label] = stateOf(channel)
  return (
    <Card
      title={`${name} in ${channel.workspace_name}`}
      aside={
        <span className="flex flex-wrap items-center gap-2">
          <Badge tone={tone}>{label}</Badge>
          <Button action={test}>Send test message</Button>
          <ConfirmButton verb="Disconnect" of={name} title={`Disconnect ${name}?`} action={remove} given={undefined}>
            Its credentials are deleted and pending messages are not sent. Sessions stay.
          </ConfirmButton>
        </span>
      }
    >
      <div className="flex flex-col gap-3 px-4 py-3 text-sm empty:hidden">
        {failure !== null && <Failure error={failure} />}
        <Notices channel={channel} name={name} test={test.data} />
        <p>
          Mention <b>@{channel.bot_name}</b> to ask{' '}
          {channel.agent === null ? 'the default agent' : `the agent ${channel.agent}`}.{' '}
          {channel.events.length === 0
            ? 'The channel gets updates on change requests from its own sessions.'
            : `The channel gets these events of the whole project: ${channel.events.join(', ')}.`}
        </p>
        <p className="flex flex-wrap items-center gap-3">
          {channel.allow_unlinked
            ? "Unlinked people can start sessions on behalf of the person who connected the channel. They can't merge."
            : 'Only linked people can start sessions here.'}
          <Button
            kind="quiet"
            busy={edit.isPending}
            onClick={() => edit.mutate({ allow_unlinked: !channel.allow_unlinked })}
          >
            {channel.allow_unlinked ? 'Allow only linked people' : 'Allow everyone in the workspace'}
          </Button>
        </p>
      </div>
      <Read query={one(path)} what="the channel">
        {(shown) => (
          <>
            <Linked links={shown.links} name={name} />
            <Threads threads={shown.threads} name={name} />
            <Deliveries deliveries={shown.deliveries} name={name} />
          </>
        )}
      </Read>
    </Card>
  )
}

interface Test {
  sent: boolean
  error: string | null
}

function Notices({ channel, name, test }: { channel: Channel; name: string; test: Test | undefined }) {
  return (
    <>
      {channel.error !== null && (
        <Notice title={`Slack rejects messages: ${channel.error}`}>Reconnect the channel with a new token.</Notice>
      )}
      {test?.sent === true && <Notice tone="neutral" title={`Test message sent to ${name}`} />}
      {test?.sent === false && <Notice title={`Test message not sent: ${test.error ?? 'Slack gave no reason'}`} />}
      {channel.shared_externally && (
        <Notice
          tone="warn"
          title="This channel is shared outside the workspace. External people can read the agent's answers."
        />
      )}
    </>
  )
}

const heading = 'border-t border-line px-4 pt-3 text-xs font-semibold text-dim'

function Linked({ links, name }: { links: ChannelDetail['links']; name: string }) {
  return (
    <>
      <h3 className={heading}>Linked people</h3>
      <Rows
        label={`Linked people in ${name}`}
        empty={
          <p className="px-4 py-2 text-sm text-dim">
            No linked people yet. To link yourself, mention the app and write “link”.
          </p>
        }
      >
        {links.map((link) => (
          <Row key={link.link_id}>
            <span className="min-w-0 flex-1">{link.chat_user_name}</span>
            <code className="font-mono text-xs text-dim">{link.chat_user_id}</code>
            <Time at={link.created_at} />
          </Row>
        ))}
      </Rows>
    </>
  )
}

const shownMax = 8

function Threads({ threads, name }: { threads: ChannelDetail['threads']; name: string }) {
  if (threads.length === 0) return null
  return (
    <>
      <h3 className={heading}>Threads</h3>
      <Rows label={`Threads in ${name}`}>
        {threads.slice(0, shownMax).map((thread) => (
          <Row key={`${thread.session_id} ${thread.created_at}`}>
            <span className="min-w-0 flex-1">{thread.author}</span>
            {thread.session_id === null ? (
              <span className="text-dim">No session</span>
            ) : (
              <NamedSessionLink sessionId={thread.session_id} />
            )}
            <Time at={thread.created_at} />
          </Row>
        ))}
      </Rows>
    </>
  )
}

const tones = { sent: 'good', waiting: 'warn', failed: 'bad' } as const

function Deliveries({ deliveries, name }: { deliveries: ChannelDetail['deliveries']; name: string }) {
  if (deliveries.length === 0) return null
  return (
    <>
      <h3 className={heading}>Recent messages</h3>
      <Rows label={`Messages to ${name}`}>
        {deliveries.slice(0, shownMax).map((delivery, index) => (
          <Row key={`${delivery.updated_at} ${index}`}>
            <span>{delivery.kind}</span>
            <Badge tone={tones[delivery.status]}>{delivery.status}</Badge>
            <span className="min-w-0 flex-1 text-sm text-dim">{delivery.error}</span>
            <Time at={delivery.updated_at} />
          </Row>
        ))}
      </Rows>
    </>
  )
}
