import { expect, test } from 'bun:test'
import { aProject, ids, startService, svc } from './testing.ts'

const env = { SVC_PROJECT_ID: ids.project }

test('completion knows short flags and their values', async () => {
  await using service = startService({
    listProjects: () => [aProject({ slug: 'other', project_id: ids.sandbox }), aProject()],
  })
  const complete = async (...words: string[]) =>
    (await svc(['__complete', '--', ...words], { service, env })).stdout.split('\n').map((line) => line.split('\t')[0])
  expect(await complete('-R', 'other', 'cr', 'show', '')).toContain('3')
  expect(service.of('listChangeRequests')[0]!.params.projectId).toBe(ids.sandbox)
  expect(await complete('cr', 'ls', '-R', 'o')).toEqual(['other', ''])
  // A number is being typed: there is nothing to offer.
  expect(await complete('cr', 'ls', '-L', '')).toEqual([''])
  expect(await complete('cr', 'ls', '--')).toEqual(expect.arrayContaining(['--author', '--limit', '--jq', '--project']))
  expect(await complete('cr', 'ls', '-L', '5', '--')).not.toContain('--limit')
  expect(await complete('api', '/v1/projects', '-F', 'a=b', '--')).toContain('--field')
  expect(await complete('cr', 'edit', '')).toContain('3')
})
