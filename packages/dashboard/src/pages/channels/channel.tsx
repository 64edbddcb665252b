import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { api, reply } from '../../api.ts'
import { Answer } from '../../components/answer.tsx'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { Failure } from '../../components/failure.tsx'
import { useProject } from '../../components/project-shell.tsx'
import { paths } from '../../paths.ts'
import { type Channel, channel as one, type ChannelDetail } from '../../queries.ts'
import { Badge, type Tone } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { Card, Row, Rows } from '../../ui/card.tsx'
import { Notice } from '../../ui/notice.tsx'
import { Time } from '../../ui/time.tsx'

export function ChannelCard({ projectId, channel }: { projectId: string; channel: Channel }) {
  const queries = useQueryClient()
  const [asks, setAsks] = useState(false)
  const path = { projectId, channelId: channel.channel_id }
  const settle = { onSettled: () => queries.invalidateQueries({ queryKey: ['project', projectId, 'channels'] }) }
  const test = useMutation({
    mutationFn: () => reply(api.POST('/v1/projects/{projectId}/channels/{channelId}/test', { params: { path } })),
    ...settle,
  })
  const edit = useMutation({
    mutationFn: () =>
      reply(
        api.PATCH('/v1/projects/{projectId}/channels/{channelId}', {
          params: { path },
          body: { allow_unlinked: !channel.allow_unlinked },
        }),
      ),
    ...settle,
  })
  const remove = useMutation({
    mutationFn: () => reply(api.DELETE('/v1/projects/{projectId}/channels/{channelId}', { params: { path } })),
    ...settle,
  })
  const name = `#${channel.conversation_name}`
  const failure = test.error ?? edit.error ?? remove.error
  const [tone, word]: [Tone, string] =
    channel.error !== null
      ? ['bad', 'nothing gets through']
      : channel.waiting > 0
        ? ['warn', `${channel.waiting} waiting`]
        : ['good', 'connected']
  return (
    <Card
      title={`${name} of ${channel.workspace_name}`}
      aside={
        <span className="flex flex-wrap items-center gap-2">
          <Badge tone={tone}>{word}</Badge>
          <Button busy={test.isPending} onClick={() => test.mutate()}>
            Send a test
          </Button>
          <Button kind="quiet" onClick={() => setAsks(true)} aria-label={`Disconnect ${name}`}>
            Disconnect
          </Button>
        </span>
      }
    >
      <div className="flex flex-col gap-3 px-4 py-3 text-sm empty:hidden">
        {failure !== null && <Failure error={failure} />}
        {channel.error !== null && (
          <Notice title={`Slack takes nothing: ${channel.error}`}>
            Connecting the channel again gives it another token.
          </Notice>
        )}
        {test.data?.sent === true && <Notice tone="neutral" title={`Written into ${name}.`} />}
        {test.data?.sent === false && <Notice title={`Not written: ${test.data.error ?? 'no reason was given'}`} />}
        {channel.shared_externally && (
          <Notice tone="warn" title="People outside of the workspace read this channel, answers included." />
        )}
        <p>
          The app is <b>@{channel.bot_name}</b>;{' '}
          {channel.agent === null ? 'the default agent' : `the agent ${channel.agent}`} answers.{' '}
          {channel.events.length === 0
            ? 'Of change requests, those of its own sessions are told.'
            : `Told of the whole project: ${channel.events.join(', ')}.`}
        </p>
        <p className="flex flex-wrap items-center gap-3">
          {channel.allow_unlinked
            ? 'People who are not linked may start sessions, for who connected it; they merge nothing.'
            : 'Only people who are linked start sessions here.'}
          <Button kind="quiet" busy={edit.isPending} onClick={() => edit.mutate()}>
            {channel.allow_unlinked ? 'Linked people only' : 'Allow everybody of the workspace'}
          </Button>
        </p>
      </div>
      <Details projectId={projectId} channelId={channel.channel_id} name={name} />
      <ConfirmDialog
        open={asks}
        onOpenChange={setAsks}
        title={`Disconnect ${name}?`}
        verb="Disconnect"
        busy={remove.isPending}
        onConfirm={() => remove.mutate()}
      >
        Its credentials are forgotten, and what waits to be written is not. Sessions stay.
      </ConfirmDialog>
    </Card>
  )
}

function Details({ projectId, channelId, name }: { projectId: string; channelId: string; name: string }) {
  const found = useQuery(one(projectId, channelId))
  return (
    <Answer of={found} what="its threads">
      {(shown) => (
        <>
          <Linked links={shown.links} name={name} />
          <Threads threads={shown.threads} name={name} />
          <Deliveries deliveries={shown.deliveries} name={name} />
        </>
      )}
    </Answer>
  )
}

const heading = 'border-t border-line px-4 pt-3 text-xs font-semibold text-dim'

function Linked({ links, name }: { links: ChannelDetail['links']; name: string }) {
  return (
    <>
      <h3 className={heading}>Linked people</h3>
      {links.length === 0 ? (
        <p className="px-4 py-2 text-sm text-dim">Nobody yet. Mention the app and write “link”.</p>
      ) : (
        <Rows label={`People linked in ${name}`}>
          {links.map((link) => (
            <Row key={link.link_id}>
              <span className="min-w-0 flex-1">{link.chat_user_name}</span>
              <code className="font-mono text-xs text-dim">{link.chat_user_id}</code>
              <Time at={link.created_at} />
            </Row>
          ))}
        </Rows>
      )}
    </>
  )
}

const shown = 8

function Threads({ threads, name }: { threads: ChannelDetail['threads']; name: string }) {
  const { slug: project } = useProject()
  if (threads.length === 0) return null
  return (
    <>
      <h3 className={heading}>Threads</h3>
      <Rows label={`Threads of ${name}`}>
        {threads.slice(0, shown).map((thread) => (
          <Row key={`${thread.session_id} ${thread.created_at}`}>
            <span className="min-w-0 flex-1">{thread.author}</span>
            {thread.session_id === null ? (
              <span className="text-dim">no session</span>
            ) : (
              <Link
                to={paths.session}
                params={{ project, sessionId: thread.session_id }}
                className="text-accent underline"
              >
                Session {thread.session_id.slice(0, 8)}
              </Link>
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
      <h3 className={heading}>Newest messages</h3>
      <Rows label={`Messages to ${name}`}>
        {deliveries.slice(0, shown).map((delivery, index) => (
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
