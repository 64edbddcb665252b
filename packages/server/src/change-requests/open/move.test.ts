import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { ChangeRequest } from '@svc/contract'
import { makeTestApp, type TestApp } from '../../testing.ts'
import { auditOfObject, type Refusal, type TestProject, testProject } from '../testing.ts'

let app: TestApp
let at: TestProject
let clock = Date.UTC(2030, 0, 1)
let branches = 0
beforeAll(async () => {
  app = await makeTestApp({ now: () => new Date((clock += 1000)) })
  at = testProject(app, await app.managedProject())
}, 120_000)
afterAll(() => app.close())

const openOne = () => at.open(`work-${++branches}`, { [`${branches}.txt`]: 'x\n' })
const send = <Body = ChangeRequest>(method: string, crId: string, verb?: string, body?: unknown) =>
  app.request<Body>(method, at.path(crId, verb), { body })
const actionsOn = async (crId: string) => (await auditOfObject(app, crId)).map((row) => row.action)

describe('editing a change request', () => {
  test('changes the given fields, moves updated_at and writes one audit row', async () => {
    const cr = await openOne()
    const { status, body } = await send('PATCH', cr.cr_id, undefined, { title: ' New ', metadata: { k: null } })
    expect(status).toBe(200)
    expect(body).toEqual({ ...cr, title: 'New', metadata: { k: null }, updated_at: body.updated_at })
    expect(body.updated_at > cr.updated_at).toBe(true)
    expect((await auditOfObject(app, cr.cr_id)).slice(1)).toMatchObject([
      {
        action: 'change_request.edit',
        before: { title: cr.title, metadata: {} },
        after: { title: 'New', metadata: { k: null } },
      },
    ])
    expect((await send('PATCH', cr.cr_id, undefined, { description: '' })).body.description).toBe('')
  })

  test('changes nothing for an empty edit', async () => {
    const cr = await openOne()
    expect((await send('PATCH', cr.cr_id, undefined, {})).body).toEqual(cr)
    expect(await actionsOn(cr.cr_id)).toEqual(['change_request.open'])
  })

  test.each([{ title: '' }, { title: null }, { title: 'x'.repeat(257) }, { description: 5 }, { metadata: [] }])(
    'refuses the edit %j',
    async (body) => {
      const reply = await send<Refusal>('PATCH', (await openOne()).cr_id, undefined, body)
      expect(reply.status).toBe(400)
      expect(reply.body.issues).toHaveLength(1)
    },
  )

  test('edits a closed change request, but not a merged one', async () => {
    const cr = await openOne()
    await send('POST', cr.cr_id, 'close')
    expect((await send('PATCH', cr.cr_id, undefined, { title: 'Closed' })).body).toMatchObject({
      title: 'Closed',
      status: 'closed',
    })
    await send('POST', cr.cr_id, 'reopen')
    expect((await at.merge(cr.cr_id)).status).toBe(200)
    const refused = await send<Refusal>('PATCH', cr.cr_id, undefined, { title: 'Merged' })
    expect(refused.status).toBe(409)
    expect(refused.body).toMatchObject({ code: 'not_open', status: 'merged' })
  })
})

describe('closing and reopening', () => {
  test('records who closed a change request and when, and clears it on reopening', async () => {
    const cr = await openOne()
    const closed = (await send('POST', cr.cr_id, 'close')).body
    expect(closed).toMatchObject({ status: 'closed', closed_by: app.owner.user_id, closed_at: closed.updated_at })
    const reopened = (await send('POST', cr.cr_id, 'reopen')).body
    expect(reopened).toEqual({ ...cr, updated_at: reopened.updated_at })
    expect(await actionsOn(cr.cr_id)).toEqual(['open', 'close', 'reopen'].map((verb) => `change_request.${verb}`))
  })

  test('closing a closed change request changes nothing', async () => {
    const cr = await openOne()
    const closed = (await send('POST', cr.cr_id, 'close')).body
    const again = await send('POST', cr.cr_id, 'close')
    expect(again.status).toBe(200)
    expect(again.body).toEqual(closed)
    expect(await actionsOn(cr.cr_id)).toHaveLength(2)
  })

  test('answers conflict when reopening an open one, or closing or reopening a merged one', async () => {
    const cr = await openOne()
    expect((await send<Refusal>('POST', cr.cr_id, 'reopen')).status).toBe(409)
    await at.merge(cr.cr_id)
    for (const verb of ['close', 'reopen']) {
      const refused = await send<Refusal>('POST', cr.cr_id, verb)
      expect(refused.status).toBe(409)
      expect(refused.body).toMatchObject({ status: 'merged' })
    }
    expect(await actionsOn(cr.cr_id)).toEqual(['change_request.open', 'change_request.merge'])
  })

  test('twenty concurrent closes write one audit row', async () => {
    const cr = await openOne()
    const replies = await Promise.all(Array.from({ length: 20 }, () => send('POST', cr.cr_id, 'close')))
    expect(new Set(replies.map((reply) => reply.status))).toEqual(new Set([200]))
    expect(await actionsOn(cr.cr_id)).toEqual(['change_request.open', 'change_request.close'])
  })

  test('a concurrent close and merge end as one of the two, never as both', async () => {
    for (let round = 0; round < 10; round++) {
      const cr = await openOne()
      const [closed, merged] = await Promise.all([send('POST', cr.cr_id, 'close'), at.merge(cr.cr_id)])
      const { status } = await at.get(cr.cr_id)
      expect([closed.status, merged.status]).toEqual(status === 'closed' ? [200, 409] : [409, 200])
      const { exitCode } = Bun.spawnSync([
        'git',
        '-C',
        at.repo.dir,
        'merge-base',
        '--is-ancestor',
        cr.head_commit_sha!,
        'main',
      ])
      expect(exitCode === 0).toBe(status === 'merged')
    }
  })
})
