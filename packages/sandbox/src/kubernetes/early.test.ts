import { expect, test } from 'bun:test'

import type { Link } from '@svc/link'

import { earlyBoots } from './early.ts'
import type { Pod } from './pod.ts'

const podOf = (uid: string): Pod => ({ metadata: { name: `pool-${uid}`, uid } })

/** One pool, whose only blank pod is `blank`, and what happens to it. */
function onePool() {
  const seen: string[] = []
  const state = { blank: podOf('a') as Pod | null, waiting: 1, booted: Promise.withResolvers<void>() }
  const link = { close: async () => void seen.push('closed') } as Link
  const early = earlyBoots({
    cluster: { client: { remove: async (path: string) => void seen.push(`removed ${path}`) } } as never,
    path: '/pods',
    pools: { isAlone: () => state.waiting === 1 } as never,
    links: { onlyBlank: () => (state.blank === null ? null : { pod: state.blank, link }) } as never,
    log: (message) => void seen.push(message),
  })
  const begin = () =>
    early.begin('pool', (to) => {
      seen.push(to === link ? 'booting' : 'another link')
      return state.booted.promise
    })
  return { seen, state, begin }
}

test('the only blank pod of a pool is booted before the claim has it', async () => {
  const { seen, state, begin } = onePool()
  const begun = await begin()
  expect(seen).toEqual(['booting'])
  const booted = begun!.bootOf(podOf('a'))
  await begun!.end(podOf('a'))
  state.booted.reject(new Error('The sandbox cannot be reached.'))
  await expect(booted).rejects.toThrow('The sandbox cannot be reached.')
  expect(seen).toEqual(['booting'])
})

test('a pod that was booted for a claim which got another one, or none, is removed', async () => {
  for (const got of [podOf('b'), null]) {
    const { seen, begin } = onePool()
    const begun = await begin()
    expect(got === null ? null : begun!.bootOf(got)).toBeNull()
    await begun!.end(got)
    expect(seen).toEqual(['booting', 'closed', 'removed /pods/pool-a'])
  }
})

test('nothing is booted before its claim when another start may get the pod', async () => {
  const { seen, state, begin } = onePool()
  const first = await begin()
  state.waiting = 2
  let isSecond = false
  const second = begin().then((begun) => {
    isSecond = true
    return begun
  })
  await Bun.sleep(0)
  expect(isSecond).toBeFalse()
  await first!.end(podOf('a'))
  expect(await second).toBeNull()
  state.waiting = 1
  state.blank = null
  expect(await begin()).toBeNull()
  expect(seen).toEqual(['booting'])
})
