import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { ChangeRequest, MergePreview } from '@svc/contract'
import { commit } from '@svc/git/testing'
import { makeTestApp, type TestApp } from '../../test-app.ts'

const canary = 'canary-value-of-ünïcode-0815'
let app: TestApp
beforeAll(async () => {
  app = await makeTestApp()
}, 120_000)
afterAll(() => app.close())

interface Warned {
  status: number
  warnings: string[]
  cr: ChangeRequest
}

async function open(of: { project_id: string }, head_ref: string, base_ref = 'main'): Promise<Warned> {
  const made = await app.request<ChangeRequest>('POST', `/v1/projects/${of.project_id}/change-requests`, {
    body: { title: 'A change', head_ref, base_ref },
  })
  expect(made.text + [...made.headers].join()).not.toContain(canary)
  return {
    status: made.status,
    warnings: JSON.parse(made.headers.get('svc-warnings') ?? '[]') as string[],
    cr: made.body,
  }
}

const set = (of: { project_id: string }) =>
  app.request('POST', `/v1/projects/${of.project_id}/secrets`, { body: { name: 'CANARY', value: canary } })

test('warns when a change contains the value of a secret, at opening and in its effects', async () => {
  const { project, repo } = await app.managedProject()
  await commit(repo, 'work', {
    'ordner/ä.txt': `one\nkey = ${canary}\n`,
    'b.txt': Buffer.from(canary).toString('base64'),
    'c.txt': 'clean',
  })
  expect(await open(project, 'work')).toMatchObject({ status: 201, warnings: [] })
  await set(project)
  const { status, warnings, cr } = await open(project, 'work')
  expect(status).toBe(201)
  expect(warnings).toEqual([
    expect.stringMatching(/^b\.txt:1 adds the value of the secret CANARY as base64: /),
    expect.stringMatching(/^ordner\/ä\.txt:2 adds the value of the secret CANARY: /),
  ])
  const preview = await app.request<MergePreview>(
    'GET',
    `/v1/projects/${project.project_id}/change-requests/${cr.cr_id}/merge-preview?include=effects`,
  )
  expect(preview.body.effects?.secrets_added).toEqual(warnings.map((words) => words.split(': ')[0]!))
  expect(preview.body.effects?.words.slice(0, 2)).toEqual(warnings.map((words) => `${words.split(': ')[0]}.`))
  expect(preview.text).not.toContain(canary)
  // Content that the base already has does not count.
  await commit(repo, 'main', { 'x.txt': canary })
  await commit(repo, 'later', { 'y.txt': 'y' })
  expect(await open(project, 'later')).toMatchObject({ status: 201, warnings: [] })
})

test('warns about secret values on another git host and for any base branch', async () => {
  const { project, repo } = await app.externalProject()
  await commit(repo, 'other', { 'a.txt': 'a' })
  await commit(repo, 'work', { 'a.txt': canary })
  await set(project)
  const { warnings } = await open(project, 'work', 'other')
  expect(warnings).toEqual([expect.stringContaining('a.txt:1 adds the value of the secret CANARY')])
})
