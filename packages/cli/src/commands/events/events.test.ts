import type { ProjectEvent } from '@svc/sdk'
import { describe, expect, test } from 'bun:test'
import { ServiceError } from '@svc/contract/errors'
import { ids, startService, svc } from '../../testing.ts'
import { anEvent } from '../../testing/webhook.ts'

const env = { SVC_PROJECT_ID: ids.project }

const mark = (type: 'ready' | 'reset', id: number) =>
  `id: ${id}\nevent: ${type}\ndata: {"type":"${type}","id":${id}}\n\n`
const frame = (event: ProjectEvent) => `id: ${event.id}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`

function stream(...frames: string[]): Response {
  return new Response(frames.join(''), { headers: { 'content-type': 'text/event-stream' } })
}

describe('svc events', () => {
  test('svc events shows the newest events with their authors', async () => {
    await using service = startService()
    const { code, stdout } = await svc(['events', '--limit', '20'], { service, env })
    expect(code).toBe(0)
    expect(stdout).toMatch(/^41\t.*\tchange_request\.opened\tsession 44444444\t#3 Add a greeting, conflicts: a\.txt$/m)
    expect(service.of('streamProjectEvents')[0]).toMatchObject({ query: { limit: '20' } })
    expect(service.of('streamProjectEvents')[0]!.headers.get('accept')).toBe('application/json')
  })

  test('svc events says which events are no longer stored and that there are more', async () => {
    await using service = startService({
      streamProjectEvents: () => ({ events: [anEvent({ id: 31 })], last: 99, forgotten: 30 }),
    })
    const { stderr } = await svc(['events', '--after', '7'], { service, env })
    expect(stderr).toContain('Events up to 30 are no longer stored.')
    expect(stderr).toContain('svc events --after 31')
  })

  test('svc events --follow resumes after the last event when the stream ends or is refused for a while', async () => {
    const answers = [
      () => stream(mark('ready', 40), frame(anEvent({ id: 41 }))),
      () => stream(mark('ready', 41), frame(anEvent({ id: 42 }))),
      () => {
        throw new ServiceError('unavailable', 'The server starts.')
      },
      () => stream(mark('reset', 50), frame(anEvent({ id: 51, title: 'x\u001b[31mred' }))),
    ]
    await using service = startService({ streamProjectEvents: () => answers.shift()!() })
    const { code, stdout, stderr } = await svc(['events', '--follow', '--limit', '3'], { service, env })
    expect({ code, ids: stdout.match(/^\d+/gm) }).toEqual({ code: 0, ids: ['41', '42', '51'] })
    expect(stdout).not.toContain('\u001b')
    expect(stderr).toContain('Events before 51 are no longer stored')
    expect(service.of('streamProjectEvents').map(({ headers }) => headers.get('last-event-id'))).toEqual([
      ...[null, '41', '42', '42'],
    ])
  })

  test('svc events --follow --json prints one document per line, including a reset', async () => {
    await using service = startService({
      streamProjectEvents: () => stream(mark('reset', 9), frame(anEvent({ id: 10 })), frame(anEvent({ id: 11 }))),
    })
    const call = ['events', '--follow', '--after', '3', '--limit', '2', '--json']
    const { code, stdout, stderr } = await svc(call, { service, env })
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const lines = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { id: number; type: string })
    expect(lines.map(({ id, type }) => [id, type])).toEqual([
      [9, 'reset'],
      ...[10, 11].map((id): [number, string] => [id, 'change_request.opened']),
    ])
    expect(service.of('streamProjectEvents')[0]!.headers.get('last-event-id')).toBe('3')
  })

  test('svc events --follow aligns events on a terminal', async () => {
    await using service = startService({
      streamProjectEvents: () => stream(mark('ready', 8), frame(anEvent({ id: 9 })), frame(anEvent({ id: 10 }))),
    })
    const { stdout } = await svc(['events', '--follow', '--limit', '2', '--no-color'], { service, env, terminal: true })
    expect(stdout.split('\n').slice(0, 2)).toEqual([
      '9      11:00:00  change_request.opened      session 44444444  #3 Add a greeting, conflicts: a.txt',
      '10     11:00:00  change_request.opened      session 44444444  #3 Add a greeting, conflicts: a.txt',
    ])
  })

  test('svc events retries neither a refusal nor a failed first connection', async () => {
    await using service = startService({
      streamProjectEvents: () => {
        throw new ServiceError('not_found', 'No such project')
      },
    })
    expect(await svc(['events', '--follow'], { service, env })).toMatchObject({ code: 1 })
    expect(service.received).toHaveLength(1)
    for (const wrong of [
      ['--after', 'x'],
      ['--after', '-1'],
      ['--limit', '0'],
    ])
      expect((await svc(['events', ...wrong], { service, env })).code).toBe(2)
  })
})
