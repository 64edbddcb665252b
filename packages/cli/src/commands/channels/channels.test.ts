import { afterAll, beforeEach, describe, expect, test } from 'bun:test'
import { aChannel } from '../../testing/channel.ts'
import { type Answers, ids, startService, svc, token } from '../../testing.ts'

const answers: Answers = {}
const service = startService(answers)
afterAll(() => service[Symbol.asyncDispose]())
beforeEach(() => {
  for (const name of Object.keys(answers)) delete answers[name]
  service.received.length = 0
})
const env = { SVC_API_URL: service.url, SVC_CLI_TOKEN: token, SVC_PROJECT_ID: ids.project }

describe('svc channels', () => {
  test('svc channels without a subcommand shows help and is no project name', async () => {
    const { code, stdout } = await svc(['channels'], { env })
    expect(code).toBe(0)
    expect(stdout).toContain('connect')
  })

  test('channels ls shows what is wrong with a channel', async () => {
    answers.listChannels = () => ({
      channels: [aChannel({ error: 'the bot token was revoked (token_revoked)' })],
      setup: [],
      errors: [{ path: 'channels.0.events', message: 'names x', severity: 'warning', line: null, column: null }],
    })
    const { stdout, stderr } = await svc(['channels', 'ls'], { env })
    expect(stdout).toMatch(/#dev\s+Acme\s+88888888\s+default\s+the bot token was revoked/)
    expect(stderr).toContain('channels.0.events names x')
  })

  test('channels connect reads the credentials from stdin and prints neither', async () => {
    const { code, stdout, stderr } = await svc(
      ['channels', 'connect', '--channel', 'C0DEVTEAM', '--credentials', '-'],
      {
        env,
        stdin: 'xoxb-canary\n\nsecret-canary\n',
      },
    )
    expect(code).toBe(0)
    expect(stdout + stderr).not.toContain('canary')
    expect(stdout).toContain('#dev of Acme is connected')
    expect(service.of('connectChannel')[0]?.body).toEqual({
      ...{ platform: 'slack', bot_token: 'xoxb-canary', signing_secret: 'secret-canary' },
      ...{ conversation_id: 'C0DEVTEAM', allow_unlinked: false },
    })
  })

  test('channels connect exits with 2 and names a missing argument', async () => {
    const no = await svc(['channels', 'connect'], { env })
    expect([no.code, no.stderr.includes('Missing --channel')]).toEqual([2, true])
    const nobody = await svc(['channels', 'connect', '--channel', 'C0DEVTEAM'], { env })
    expect([nobody.code, nobody.stderr.includes('Missing --credentials')]).toEqual([2, true])
    const argv = await svc(['channels', 'connect', '--channel', 'C0DEVTEAM', '--credentials', 'xoxb-canary'], { env })
    expect([argv.code, argv.stderr.includes('xoxb-canary')]).toEqual([2, false])
    expect(service.of('connectChannel')).toEqual([])
  })

  test('channels connect --app-manifest prints what Slack accepts, and warns when Slack cannot reach the server', async () => {
    const { stdout, stderr } = await svc(['channels', 'connect', '--app-manifest'], { env })
    expect(JSON.parse(stdout)).toEqual({ display_information: { name: 'svc' } })
    expect(stderr).toContain('https')
  })

  test('channels test exits with 1 and the reason when Slack refuses the message', async () => {
    answers.testChannel = () => ({ sent: false, error: 'the channel is archived (is_archived)' })
    const { code, stderr } = await svc(['channels', 'test', '#dev'], { env })
    expect(code).toBe(1)
    expect(stderr).toContain('#dev did not accept the message: the channel is archived')
  })

  test('channels link shows the chat user, warns about another email address, and asks', async () => {
    const { code, stderr } = await svc(['channels', 'link', 'a-code-of-the-chat'], { env })
    expect(code).toBe(2)
    expect(stderr).toContain('Let Ada <ada@example.com> of Acme act as you')
    expect(service.of('linkChatUser')).toEqual([])
    answers.claimLinkCode = () => ({
      ...{ platform: 'slack', workspace_name: 'Acme', chat_user_id: 'U0EVE', chat_user_name: 'Eve' },
      ...{ chat_user_email: 'eve@evil.test', project_id: ids.project, project_name: 'app', account_name: 'Home' },
      ...{ user_name: 'Ada', user_email: 'ada@example.com', expires_at: '2026-11-21T12:00:00.000Z' },
    })
    expect((await svc(['channels', 'link', 'a-code-of-the-chat', '--yes'], { env })).stderr).toContain(
      'differs from yours',
    )
  })

  test('a channel must be named when there are several and no terminal to pick one', async () => {
    const second = aChannel({ channel_id: 'aaaaaaaa-8888-4888-8888-888888888888', conversation_name: 'ops' })
    answers.listChannels = () => ({ channels: [aChannel(), second], setup: [], errors: [] })
    const { code, stderr } = await svc(['channels', 'show'], { env })
    expect([code, stderr.includes('Missing <channel>')]).toEqual([2, true])
    expect((await svc(['channels', 'show', 'ops'], { env })).code).toBe(0)
  })
})
