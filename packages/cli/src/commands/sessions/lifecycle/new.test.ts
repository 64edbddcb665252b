import type { SessionEvent } from '@svc/sdk'
import { describe, expect, test } from 'bun:test'
import { aChangeRequest, aSession, ids, startService, svc } from '../../../testing.ts'

const env = { SVC_PROJECT_ID: ids.project }
const at = aSession().created_at
const own = aChangeRequest({ number: 4, title: 'Mend the test', origin_session_id: ids.session })
const other = aChangeRequest({ number: 3, title: 'Of another', origin_session_id: null })
const answer: SessionEvent = {
  type: 'message',
  message: {
    ...{ message_id: 'a', role: 'assistant', created_at: at, completed_at: at, error: null },
    parts: [{ type: 'text', id: '1', text: 'Done.' }],
  },
}
const turn = (status: 'busy' | 'idle' | 'error', error: string | null = null): SessionEvent => ({
  type: 'turn',
  status,
  error,
})

function session(events: SessionEvent[], change_requests = [other, own]) {
  return startService({
    async *streamSessionEvents() {
      yield* events
      await new Promise(() => {})
    },
    listChangeRequests: () => ({ change_requests }),
  })
}
const follow = (service: ReturnType<typeof session>, ...flags: string[]) =>
  svc(['sessions', 'new', '--prompt', 'Mend it', '--follow', ...flags], { service, env })

describe('svc sessions new --follow', () => {
  test('streams the answer, then shows what the session proposed', async () => {
    await using service = session([turn('busy'), answer, turn('idle')])
    const { code, stdout, stderr } = await follow(service)
    expect(code).toBe(0)
    expect(stdout).toMatch(/^Done\.\n#4\topen\tMend the test\t[^\n]*\n$/)
    expect(stderr).toContain('✓ running')
    expect(stderr).toContain('svc cr show 4 · svc cr diff 4 · svc sessions chat 44444444')
    expect(service.of('promptSession')).toEqual([])
  })

  test('says that nothing was proposed, and what to do', async () => {
    await using service = session([turn('busy'), answer, turn('idle')], [other])
    const { code, stdout, stderr } = await follow(service)
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'Done.\n' })
    expect(stderr).toContain('No change request was opened.')
    expect(stderr).toContain(`svc cr open --head ${ids.session} --title "<title>"`)
  })

  test('ends with 1 and the reason when the turn fails, after what was proposed', async () => {
    await using service = session([turn('busy'), answer, turn('error', 'The model is away')])
    const { code, stdout, stderr } = await follow(service)
    expect(code).toBe(1)
    expect(stdout).toContain('#4\topen')
    expect(stderr).toContain('error: The model is away')
    expect(stderr).toContain('svc sessions log 44444444')
  })

  test('ends with 1 and the reason also when the turn had failed before it was followed', async () => {
    const parts = [{ type: 'text' as const, id: '1', text: 'Mend it' }]
    const prompt: Extract<SessionEvent, { type: 'message' }>['message'] = {
      ...{ message_id: ids.session, role: 'user', created_at: at, completed_at: at, error: 'The model is away', parts },
    }
    await using service = session([{ type: 'message', message: prompt }, turn('idle')], [])
    const { code, stderr } = await follow(service)
    expect(code).toBe(1)
    expect(stderr).toContain('error: The model is away')
  })

  test('--json is a line an event, and the change requests are the last', async () => {
    await using service = session([turn('busy'), answer, turn('idle')])
    const { stdout, stderr } = await follow(service, '--json')
    expect(stderr).toBe('')
    const lines = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as unknown)
    expect(lines).toEqual([turn('busy'), answer, turn('idle'), { type: 'change_requests', change_requests: [own] }])
  })

  test('needs a prompt, and time', async () => {
    const without = await svc(['sessions', 'new', '--follow'], { env })
    expect(without.code).toBe(2)
    expect(without.stderr).toContain('--follow needs --prompt <text>')
    expect((await svc(['sessions', 'new', '--prompt', 'x', '--follow', '--no-wait'], { env })).code).toBe(2)
  })
})
