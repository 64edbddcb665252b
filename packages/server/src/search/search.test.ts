/** The search at the HTTP entry: what it finds, in which order, and for whom. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { ErrorBody, Found, Session } from '@svc/contract'
import { type TestProject, testProject } from '../change-requests/testing.ts'
import { updateRows } from '../db/rows.ts'
import { makeTestApp, type TestApp } from '../test-app.ts'

let app: TestApp
let shop: TestProject
let web: TestProject
let viewer: string

beforeAll(async () => {
  app = await makeTestApp()
  shop = testProject(app, await app.managedProject())
  web = testProject(app, await app.managedProject())
  await shop.open('fix/retries', { 'r.txt': 'r\n' }, { title: 'Retry webhook deliveries' })
  await shop.open('totals', { 't.txt': 't\n' }, { title: 'Round Überträge to 100% of a cent' })
  await web.open('menu', { 'm.txt': 'm\n' }, { title: 'Draw the webhook menu' })
  await name(shop, 'Repair the checkout')
  await name(web, 'Checkout pages')
  viewer = (await app.makeUser('viewer')).token
}, 120_000)
afterAll(() => app.close())

async function name({ project }: TestProject, name: string): Promise<void> {
  const { session_id } = await app.makeSession(project)
  await updateRows(app.deps.db, 'project_sessions', { session_id }, { name })
}

async function search(text: string, first?: TestProject, token = app.ownerToken): Promise<Found> {
  const query = new URLSearchParams({ text, ...(first && { project_id: first.project.project_id }) })
  return (await app.request<Found>('GET', `/v1/find?${query}`, { token })).body
}
const titles = ({ change_requests: all }: Found) => all.map(({ title }) => title)
const names = ({ sessions }: Found) => sessions.map((each: Pick<Session, 'name'>) => each.name)

describe('change requests in the search', () => {
  test('are found by words of the title and the branch, in any order and case', async () => {
    expect(titles(await search('DELIV ret'))).toEqual(['Retry webhook deliveries'])
    expect(titles(await search('fix/'))).toEqual(['Retry webhook deliveries'])
    expect(titles(await search('überträge'))).toEqual(['Round Überträge to 100% of a cent'])
    expect(titles(await search('100%'))).toEqual(['Round Überträge to 100% of a cent'])
    expect(titles(await search('%'))).toEqual(['Round Überträge to 100% of a cent'])
    expect(titles(await search('retry menu'))).toEqual([])
  })

  test('are found by number, before those with the number in their title', async () => {
    const { change_requests: found } = await search('#2')
    expect(found).toMatchObject([{ number: 2, head_ref: 'totals', status: 'open' }])
    expect(found[0]!.base_ref).toBeUndefined()
    expect(found[0]!.project).toEqual({
      project_id: shop.project.project_id,
      slug: shop.project.slug,
      name: shop.project.name,
    })
    await web.open('two', { 'two.txt': '2\n' }, { title: 'Take 1 of 3' })
    expect(titles(await search('1', web))).toEqual([
      'Draw the webhook menu',
      'Retry webhook deliveries',
      'Take 1 of 3',
      'Round Überträge to 100% of a cent',
    ])
  })

  test('of the given project come first, then open ones', async () => {
    expect(titles(await search('webhook', shop))).toEqual(['Retry webhook deliveries', 'Draw the webhook menu'])
    expect(titles(await search('webhook', web))).toEqual(['Draw the webhook menu', 'Retry webhook deliveries'])
    const later = await shop.open('later', { 'l.txt': 'l\n' }, { title: 'Sign webhook bodies' })
    expect(titles(await search('webhook', shop))[0]).toBe('Sign webhook bodies')
    await app.request('POST', shop.path(later.cr_id, 'close'))
    expect(titles(await search('webhook', shop)).slice(0, 2)).toEqual([
      'Retry webhook deliveries',
      'Sign webhook bodies',
    ])
  })

  test('are at most eight', async () => {
    const at = testProject(app, await app.managedProject())
    for (let i = 1; i <= 9; i++) await at.open(`many-${i}`, { [`${i}.txt`]: 'x\n' }, { title: `One of many ${i}` })
    const found = titles(await search('one of many', at))
    expect(found).toHaveLength(8)
    expect(found[0]).toBe('One of many 9')
  })
})

test('sessions are found by name, those of the given project first', async () => {
  expect(names(await search('checkout', shop))).toEqual(['Repair the checkout', 'Checkout pages'])
  expect(names(await search('checkout', web))).toEqual(['Checkout pages', 'Repair the checkout'])
  expect((await search('pages check')).sessions).toMatchObject([{ project: { slug: web.project.slug } }])
})

describe('who finds what', () => {
  test('a viewer finds sessions and no change requests', async () => {
    expect(await search('1', shop, viewer)).toEqual({ change_requests: [], sessions: [] })
    expect(titles(await search('webhook', shop, viewer))).toEqual([])
    expect(names(await search('checkout', shop, viewer))).toEqual(['Repair the checkout', 'Checkout pages'])
  })

  test('a member of another account finds nothing, also with the id of the project', async () => {
    const { token } = await app.makeUser('owner', 'own')
    for (const text of ['1', 'webhook', 'checkout'])
      expect(await search(text, shop, token)).toEqual({ change_requests: [], sessions: [] })
  })

  test('nobody finds what is in a deleted project', async () => {
    const at = testProject(app, await app.managedProject())
    await at.open('gone', { 'g.txt': 'g\n' }, { title: 'Vanishing title' })
    expect(titles(await search('vanishing'))).toEqual(['Vanishing title'])
    await app.request('DELETE', `/v1/projects/${at.project.project_id}`)
    expect(titles(await search('vanishing'))).toEqual([])
  })

  test('refuses a project token, an empty text and a NUL character', async () => {
    const token = await app.makeToken({ project_id: shop.project.project_id })
    expect((await app.request<ErrorBody>('GET', '/v1/find?text=webhook', { token })).status).toBe(403)
    for (const text of ['', '%20', '%00', 'x'.repeat(257)])
      expect((await app.request<ErrorBody>('GET', `/v1/find?text=${text}`)).status).toBe(400)
  })
})
