/** A fake Slack server with the routes the service uses and Slack's rules for tokens, channels, threads and blocks. It also builds Slack's requests. */
import { createHmac, randomBytes } from 'node:crypto'

export interface SlackCall {
  method: string
  token: string
  body: Record<string, string>
}

export interface SlackMessage {
  ts: string
  channel: string
  thread_ts: string | null
  text: string
  blocks: SlackBlock[]
  edits: number
  /** The only user who sees it. */
  user: string | null
}

export interface SlackBlock {
  type: string
  text?: { type: string; text: string; verbatim?: boolean }
  elements?: SlackElement[]
}
interface SlackElement {
  type: string
  text?: unknown
  action_id?: string
  value?: string
  url?: string
}

/** Replaces the response to the next call of a method. */
export type Trouble =
  | { kind: 'limited'; seconds: number }
  | { kind: 'error'; code: string }
  | { kind: 'page'; status: number }
  | { kind: 'answer'; text: string }
  | { kind: 'hang' }

export interface SlackServer {
  apiUrl: string
  token: string
  secret: string
  team: { id: string; name: string }
  bot: { id: string; name: string }
  calls: SlackCall[]
  messages: SlackMessage[]
  users: Map<string, { name: string; email?: string; team_id?: string; is_restricted?: boolean; deleted?: boolean }>
  channels: Map<string, { name: string; is_member: boolean; is_archived?: boolean; is_ext_shared?: boolean }>
  trouble(method: string, ...what: Trouble[]): void
  /** Fails the calls that hang. */
  release(): void
  /** All text of a message, links included. */
  textOf(message: SlackMessage): string
  thread(ts: string): SlackMessage[]
  close(): Promise<void>
}

export function startSlack(): SlackServer {
  const queues = new Map<string, Trouble[]>()
  const hanging: (() => void)[] = []
  let posted = 0
  const slack: Omit<SlackServer, 'apiUrl' | 'close'> = {
    token: `xoxb-canary-value-${randomBytes(8).toString('hex')}`,
    secret: `canary-value-${randomBytes(16).toString('hex')}`,
    team: { id: 'T0ACME', name: 'Acme' },
    bot: { id: 'U0BOT', name: 'svc' },
    calls: [],
    messages: [],
    users: new Map([
      ['U0ADA', { name: 'Ada', email: 'ada@example.test' }],
      ['U0EVE', { name: 'Eve' }],
    ]),
    channels: new Map([['C0DEVTEAM', { name: 'dev', is_member: true }]]),
    trouble: (method, ...what) => void queues.set(method, [...(queues.get(method) ?? []), ...what]),
    release: () => hanging.splice(0).forEach((end) => end()),
    textOf: (message) => [message.text, ...message.blocks.flatMap(textsOf)].join('\n'),
    thread: (ts) => slack.messages.filter((message) => message.thread_ts === ts),
  }
  const nextTs = () => `17000000${String(10 + Math.floor(++posted / 1_000_000))}.${String(posted).padStart(6, '0')}`

  function answer(method: string, token: string, body: Record<string, string>): object {
    if (token !== slack.token) return { ok: false, error: 'invalid_auth' }
    const channel = slack.channels.get(body.channel ?? '')
    switch (method) {
      case 'auth.test':
        return {
          ok: true,
          team: slack.team.name,
          team_id: slack.team.id,
          user: slack.bot.name,
          user_id: slack.bot.id,
          bot_id: 'B0BOT',
        }
      case 'conversations.info':
        return channel === undefined
          ? { ok: false, error: 'channel_not_found' }
          : { ok: true, channel: { id: body.channel, is_archived: false, is_ext_shared: false, ...channel } }
      case 'users.info': {
        const { name, email, ...user } = slack.users.get(body.user ?? '') ?? {}
        if (name === undefined) return { ok: false, error: 'user_not_found' }
        const profile = { display_name: name, ...(email === undefined ? {} : { email }) }
        return { ok: true, user: { id: body.user, team_id: slack.team.id, is_bot: false, ...user, profile } }
      }
      case 'chat.postMessage':
      case 'chat.postEphemeral': {
        const refusal = channel === undefined ? 'channel_not_found' : channel.is_archived ? 'is_archived' : flawOf(body)
        if (refusal !== null) return { ok: false, error: refusal }
        const ts = nextTs()
        const isEphemeral = method === 'chat.postEphemeral'
        slack.messages.push({
          ts,
          channel: body.channel!,
          thread_ts: body.thread_ts ?? null,
          text: body.text ?? '',
          blocks: JSON.parse(body.blocks ?? '[]') as SlackBlock[],
          edits: 0,
          user: isEphemeral ? (body.user ?? null) : null,
        })
        return isEphemeral ? { ok: true, message_ts: ts } : { ok: true, channel: body.channel, ts, message: {} }
      }
      case 'chat.update': {
        const message = slack.messages.find(({ ts, user }) => ts === body.ts && user === null)
        if (message === undefined) return { ok: false, error: 'message_not_found' }
        const refusal = flawOf(body)
        if (refusal !== null) return { ok: false, error: refusal }
        message.text = body.text ?? ''
        message.blocks = JSON.parse(body.blocks ?? '[]') as SlackBlock[]
        message.edits++
        return { ok: true, channel: body.channel, ts: body.ts, text: body.text }
      }
      default:
        return { ok: false, error: 'unknown_method' }
    }
  }

  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    idleTimeout: 0,
    async fetch(request) {
      const method = new URL(request.url).pathname.replace('/api/', '')
      const body = Object.fromEntries(new URLSearchParams(await request.text()))
      const token = request.headers.get('authorization')?.replace('Bearer ', '') ?? ''
      slack.calls.push({ method, token, body })
      const trouble = queues.get(method)?.shift()
      if (trouble?.kind === 'hang')
        return new Promise<Response>((resolve) =>
          hanging.push(() => resolve(Response.json({ ok: false, error: 'internal_error' }))),
        )
      if (trouble?.kind === 'page') return new Response('<html>a proxy</html>', { status: trouble.status })
      if (trouble?.kind === 'answer') return new Response(trouble.text)
      if (trouble?.kind === 'error') return Response.json({ ok: false, error: trouble.code })
      if (trouble?.kind === 'limited')
        return Response.json(
          { ok: false, error: 'ratelimited' },
          { status: 429, headers: { 'retry-after': String(trouble.seconds) } },
        )
      return Response.json(answer(method, token, body))
    },
  })
  return Object.assign(slack, {
    apiUrl: `http://127.0.0.1:${server.port}/api/`,
    close: () => server.stop(true),
  })
}

/** Slack's limits for blocks, as far as a message can exceed them. */
function flawOf(body: Record<string, string>): string | null {
  const blocks = JSON.parse(body.blocks ?? '[]') as SlackBlock[]
  const isGood = (block: SlackBlock) => {
    if (block.type === 'section') return (block.text?.text.length ?? 0) > 0 && block.text!.text.length <= 3000
    const elements = block.elements ?? []
    if (block.type === 'context')
      return elements.length > 0 && elements.every(({ text }) => String(text).length <= 2000)
    const ids = elements.map(({ action_id }) => action_id)
    return block.type === 'actions' && new Set(ids).size === ids.length && ids.length <= 25
  }
  if (blocks.length > 50 || !blocks.every(isGood)) return 'invalid_blocks'
  return (body.text ?? '').length > 40_000 ? 'msg_too_long' : null
}

function textsOf(block: SlackBlock): string[] {
  const of = (text: unknown) =>
    typeof text === 'string' ? text : ((text as { text?: string } | undefined)?.text ?? '')
  return [of(block.text), ...(block.elements ?? []).map((element) => of(element.text))].filter((text) => text !== '')
}

export interface SlackRequest {
  body: string
  headers: Record<string, string>
}

/** A request with Slack's signature. */
export function signed(body: string, secret: string, at: Date, type: string): SlackRequest {
  const seconds = String(Math.floor(at.getTime() / 1000))
  const mac = createHmac('sha256', secret).update(`v0:${seconds}:${body}`).digest('hex')
  return {
    body,
    headers: { 'content-type': type, 'x-slack-request-timestamp': seconds, 'x-slack-signature': `v0=${mac}` },
  }
}

let events = 0

export interface Said {
  text: string
  user?: string
  channel?: string
  ts?: string
  thread_ts?: string
  type?: 'app_mention' | 'message'
  event_id?: string
  more?: object
}

/** An `event_callback` for a message. */
export function eventBody(slack: Pick<SlackServer, 'team'>, said: Said): string {
  const { user = 'U0ADA', channel = 'C0DEVTEAM', type = 'app_mention', more = {}, ...rest } = said
  const n = ++events
  const {
    event_id = `Ev${String(n).padStart(9, '0')}`,
    ts = `1700000000.${String(n).padStart(6, '0')}`,
    ...event
  } = rest
  return JSON.stringify({
    type: 'event_callback',
    token: 'unused',
    team_id: slack.team.id,
    api_app_id: 'A0APP',
    event_id,
    event_time: 1_700_000_000,
    event: { type, user, channel, ts, team: slack.team.id, event_ts: ts, ...event, ...more },
  })
}

/** The form of a button press. */
export function pressBody(
  slack: Pick<SlackServer, 'team'>,
  press: { user?: string; message: SlackMessage; action_ts?: string; value?: string; action_id?: string },
): string {
  const { user = 'U0ADA', message } = press
  const button = message.blocks.flatMap(({ elements }) => elements ?? []).find(({ value }) => value !== undefined)
  const payload = {
    type: 'block_actions',
    user: { id: user, username: user.toLowerCase(), team_id: slack.team.id },
    team: { id: slack.team.id, domain: 'acme' },
    channel: { id: message.channel, name: 'dev' },
    message: { ts: message.ts, ...(message.thread_ts === null ? {} : { thread_ts: message.thread_ts }) },
    trigger_id: `${++events}.1.abc`,
    actions: [
      {
        action_id: press.action_id ?? button?.action_id,
        value: press.value ?? button?.value,
        action_ts: press.action_ts ?? `1700000001.${String(++events).padStart(6, '0')}`,
        type: 'button',
      },
    ],
  }
  return new URLSearchParams({ payload: JSON.stringify(payload) }).toString()
}
