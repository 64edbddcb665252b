import type { Channel, ChannelLink, ChangeRequest } from '@svc/contract'
import { detectDefaultBranch } from '../projects/default-branch.ts'
import { getProject } from '../projects/store.ts'
import { makeSessionApp, type SessionApp, until } from '../sessions/testing.ts'
import { projectPath } from '../test-app.ts'
import type { TestReply } from '../testing.ts'
import { commit } from '@svc/git/testing'
import { postChangeRequestUpdates } from './updates/cards.ts'
import { deliverMessages } from './outbox/deliver.ts'
import { postSessionUpdates } from './updates/post-session.ts'
import {
  eventBody,
  pressBody,
  type Said,
  signed,
  type SlackMessage,
  type SlackServer,
  startSlack,
} from './slack/testing-slack.ts'
import { processEvents } from './ingress/process-events.ts'

export interface ChannelApp extends SessionApp {
  slack: SlackServer
  clock: { now: number }
  base: string
  connect(body?: object): Promise<TestReply<Channel & { code?: string; error?: string; hint?: string }>>
  /** Signed as Slack signs it. */
  event(said: Said): Promise<TestReply>
  press(press: Parameters<typeof pressBody>[1]): Promise<TestReply>
  /** Runs each job once. */
  round(): Promise<void>
  /** Repeats rounds until `look` finds something. */
  sees<T>(what: string, look: () => T | null | undefined | false | Promise<T | null | undefined | false>): Promise<T>
  /** The code in the user's latest ephemeral invitation. */
  codeFor(user: string): string
  link(user?: string, token?: string): Promise<ChannelLink>
  manifest(text: string): Promise<void>
}

/** A server with a fake Slack and a clock that only tests move. */
export async function makeChannelApp(options: Parameters<typeof makeSessionApp>[0] = {}): Promise<ChannelApp> {
  const slack = startSlack()
  const clock = { now: Date.now() }
  const app = await makeSessionApp({
    ...options,
    configure: { slackApiUrl: slack.apiUrl, ...options.configure },
    deps: { now: () => new Date(clock.now), ...options.deps },
  })
  const base = `/v1/projects/${app.project.project_id}/channels`
  const door = `/v1/channels/slack/${app.project.project_id}`
  const never = new AbortController().signal

  const event: ChannelApp['event'] = (said) =>
    app.request('POST', `${door}/events`, {
      token: null,
      ...signed(eventBody(slack, said), slack.secret, app.deps.now(), 'application/json'),
    })
  const press: ChannelApp['press'] = (what) =>
    app.request('POST', `${door}/interactions`, {
      token: null,
      ...signed(pressBody(slack, what), slack.secret, app.deps.now(), 'application/x-www-form-urlencoded'),
    })
  const round = async () => {
    await app.deps.db.updateTable('channels').set({ looked_at: null }).execute()
    await processEvents(app.deps, never)
    await postSessionUpdates(app.deps)
    await postChangeRequestUpdates(app.deps, never)
    await deliverMessages(app.deps, never)
    // Past the pause between two edits.
    clock.now += 4_000
  }
  const sees: ChannelApp['sees'] = (what, look) =>
    until(what, async () => {
      await round()
      return (await look()) || null
    })
  const codeFor = (user: string): string => {
    const invitation = slack.messages.findLast(
      (message) => message.user === user && slack.textOf(message).includes('#'),
    )
    const code = invitation === undefined ? null : /svc channels link ([\w-]+)/.exec(slack.textOf(invitation))?.[1]
    if (code == null) throw new Error(`Nobody gave ${user} a code.`)
    return code
  }
  return {
    ...app,
    slack,
    clock,
    base,
    event,
    press,
    round,
    sees,
    codeFor,
    connect: (body = {}) =>
      app.request('POST', base, {
        body: { bot_token: slack.token, signing_secret: slack.secret, conversation_id: 'C0DEVTEAM', ...body },
      }),
    async link(user = 'U0ADA', token = app.ownerToken) {
      await event({ text: `<@${slack.bot.id}> link`, user })
      await round()
      const code = codeFor(user)
      await app.request('POST', '/v1/channel-links/claim', { token, body: { code } })
      const made = await app.request<ChannelLink>('POST', '/v1/channel-links', { token, body: { code } })
      if (made.status !== 201) throw new Error(`Not linked: ${made.text}`)
      return made.body
    },
    async manifest(text) {
      await commit(app.repo, 'main', { 'svc.toml': text })
      await detectDefaultBranch(app.deps, (await getProject(app.deps.db, app.project.project_id))!)
    },
    async close() {
      await app.close()
      await slack.close()
    },
  }
}

export const mention = (app: Pick<ChannelApp, 'slack'>, text: string) => `<@${app.slack.bot.id}> ${text}`

export async function openCr(app: ChannelApp, head: string, more: object = {}): Promise<ChangeRequest> {
  const body = { title: `Work of ${head}`, head_ref: head, ...more }
  const made = await app.request<ChangeRequest>('POST', projectPath(app.project, 'change-requests'), { body })
  if (made.status !== 201) throw new Error(`No change request: ${made.text}`)
  return made.body
}

export function hasMergeButton(message: SlackMessage): boolean {
  return message.blocks.some(({ elements }) => elements?.some(({ action_id }) => action_id === 'svc_merge'))
}
