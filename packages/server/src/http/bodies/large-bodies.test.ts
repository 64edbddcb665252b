import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { buildApp } from '../../app.ts'
import { makeSessionApp, type RunningSession, type SessionApp, until } from '../../sessions/testing.ts'
import { LargeBodies } from './large-bodies.ts'

setDefaultTimeout(120_000)
let app: SessionApp
let session: RunningSession
beforeAll(async () => {
  app = await makeSessionApp()
  session = await app.running()
})
afterAll(() => app.close())

const mib = 1024 ** 2
const body = (bytes: number) =>
  Buffer.from(
    JSON.stringify({
      text: 'look',
      attachments: [{ name: 'a', content_base64: Buffer.alloc(Math.floor(bytes * 0.75)).toString('base64') }],
    }),
  )

/** A prompt that pauses at `pauseAt` and continues once `go` is called. */
function slowPrompt(bytes: number, token = app.ownerToken) {
  const content = body(bytes)
  const paused = Promise.withResolvers<void>()
  let at = 0
  const stream = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        if (at >= 1.5 * mib) await paused.promise
        if (at >= content.length) return controller.close()
        controller.enqueue(content.subarray(at, (at += 0.25 * mib)))
      },
    },
    { highWaterMark: 0 },
  )
  const answer = buildApp(app.deps).request(app.deps.config.publicUrl + app.path(session.session_id, 'prompt'), {
    method: 'POST',
    headers: {
      host: new URL(app.deps.config.publicUrl).host,
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
    },
    body: stream,
  })
  return { answer, go: paused.resolve, sent: () => at }
}

test('reads two large prompts of a user at once, while small ones and those of others do not wait', async () => {
  const slow = [slowPrompt(3 * mib), slowPrompt(3 * mib)]
  await until('both are past 1 MiB', () => slow.every(({ sent }) => sent() >= 1.5 * mib))
  const third = slowPrompt(3 * mib)
  third.go()
  await until('the third has begun', () => third.sent() > mib)
  const member = await app.makeUser('member')
  const other = slowPrompt(3 * mib, member.token)
  const small = slowPrompt(mib / 2)
  other.go()
  expect([(await other.answer).status, (await small.answer).status]).toEqual([202, 202])
  expect(third.sent()).toBeLessThan(1.5 * mib)
  for (const { go } of slow) go()
  expect((await Promise.all([...slow, third].map(({ answer }) => answer))).map(({ status }) => status)).toEqual([
    202, 202, 202,
  ])
})

test('refuses a body that waits too long, and gives its place to the next', async () => {
  const bodies = new LargeBodies({ atOnce: 1, perUser: 1, waitMsMax: 50 })
  const first = bodies.placeOf('a')
  await first.take()
  for (const user of ['a', 'b']) {
    using late = bodies.placeOf(user)
    expect(await late.take().catch((error: unknown) => error)).toMatchObject({
      ...{ code: 'unavailable', detail: { retry_after_seconds: 10 } },
    })
  }
  first[Symbol.dispose]()
  using next = bodies.placeOf('b')
  await next.take()
})
