/** How long a signed context is good for, by a clock that the test moves. The rest of who passes is asked at the door, in http.test.ts. */
import { describe, expect, test } from 'bun:test'
import { type UserContext, userContextHeader } from '@svc/contract/daemon/control'
import { createAccess } from './access.ts'
import { signed, testToken } from '../testing.ts'

const began = 1_800_000_000

async function makeDoor() {
  let now = began
  const access = await createAccess({
    token: testToken,
    sessionId: 'session-1',
    generation: 2,
    nowMs: () => now * 1000,
  })
  const show = async (header: string) => {
    const rawHeaders = [userContextHeader, header]
    return (await access.user({ method: 'GET', path: '/', rawHeaders })).kind
  }
  return {
    show,
    context: (fields: Partial<UserContext>) => signed('/', { iat: began, exp: began + 60, ...fields }),
    wait: (seconds: number) => void (now += seconds),
  }
}

describe('the user context of a request', () => {
  test.each<[string, Partial<UserContext>, 'allowed' | 'refused']>([
    ['of the minute from now', {}, 'allowed'],
    ['of more than a minute, most of it over', { iat: began - 30, exp: began + 31 }, 'refused'],
    ['in its last second', { iat: began - 59, exp: began + 1 }, 'allowed'],
    ['that ends right now', { iat: began - 60, exp: began }, 'refused'],
    ['of a clock five seconds ahead', { iat: began + 5, exp: began + 65 }, 'allowed'],
    ['of a clock further ahead', { iat: began + 6, exp: began + 60 }, 'refused'],
    ['that begins after it ends', { iat: began + 5, exp: began + 4 }, 'allowed'],
    ['with an id of 128 characters', { jti: 'x'.repeat(128) }, 'allowed'],
    ['with an id of 129', { jti: 'x'.repeat(129) }, 'refused'],
  ])('decides by the times and the id of a user context %s', async (_, fields, outcome) => {
    const { show, context } = await makeDoor()
    expect(await show(await context(fields))).toBe(outcome)
  })

  test('accepts a user context once during its lifetime', async () => {
    const { show, context, wait } = await makeDoor()
    const early = await context({ iat: began + 5, exp: began + 65 })
    expect(await show(early)).toBe('allowed')
    for (const seconds of [1, 58, 5]) {
      wait(seconds)
      expect(await show(early)).toBe('refused')
    }
  })

  test('forgets used contexts after they expire, and keeps the others', async () => {
    const { show, context, wait } = await makeDoor()
    const early = await context({ iat: began + 5, exp: began + 65 })
    expect(await show(early)).toBe('allowed')
    wait(59)
    expect(await show(await context({ iat: began + 59, exp: began + 99 }))).toBe('allowed')
    wait(5)
    expect(await show(await context({ iat: began + 59, exp: began + 99 }))).toBe('allowed')
    expect(await show(early)).toBe('refused')
  })
})
