import { expect, test } from 'bun:test'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { aProject, ids, startService, svc, temporaryFolder } from '../testing.ts'

const env = { SVC_PROJECT_ID: ids.project }

test('completion offers short flags and their values', async () => {
  await using service = startService({
    listProjects: () => [aProject({ slug: 'other', project_id: ids.sandbox }), aProject()],
  })
  const complete = async (...words: string[]) =>
    (await svc(['__complete', '--', ...words], { service, env })).stdout.split('\n').map((line) => line.split('\t')[0])
  expect(await complete('-R', 'other', 'cr', 'show', '')).toContain('3')
  expect(service.of('listChangeRequests')[0]!.params.projectId).toBe(ids.sandbox)
  expect(await complete('cr', 'ls', '-R', 'o')).toEqual(['other', ''])
  // A number has no candidates.
  expect(await complete('cr', 'ls', '-L', '')).toEqual([''])
  expect(await complete('cr', 'ls', '--')).toEqual(expect.arrayContaining(['--author', '--limit', '--jq', '--project']))
  expect(await complete('cr', 'ls', '-L', '5', '--')).not.toContain('--limit')
  expect(await complete('api', '/v1/projects', '-F', 'a=b', '--')).toContain('--field')
  expect(await complete('cr', 'edit', '')).toContain('3')
})

test('completion offers aliases and the arguments of the aliased command', async () => {
  await using service = startService()
  await using folder = await temporaryFolder()
  const config = join(folder.path, 'config.json')
  const aliases = { co: 'cr checkout', into: 'cr ls --base main --status $1', talk: 'sessions chat', cr: 'sessions ls' }
  await writeFile(config, JSON.stringify({ aliases }), { mode: 0o600 })
  const complete = async (...words: string[]) => {
    const ran = await svc(['__complete', '--', ...words], { service, env: { ...env, SVC_CONFIG_FILE: config } })
    return ran.stdout.trimEnd().split('\n')
  }
  expect(await complete('co')).toEqual(expect.arrayContaining(['co\tsvc cr checkout']))
  expect((await complete('')).map((line) => line.split('\t')[0])).toEqual(expect.arrayContaining(['co', 'cr', 'into']))
  expect(await complete('co', '')).toEqual([expect.stringMatching(/^3\t/)])
  expect(await complete('-R', 'app', 'co', '')).toEqual([expect.stringMatching(/^3\t/)])
  expect(await complete('co', '--br')).toEqual([expect.stringMatching(/^--branch\t/)])
  expect(await complete('talk', '')).toEqual([expect.stringMatching(/^44444444\t/)])
  // The next word is the value of the flag.
  expect(await complete('into', '')).toEqual(['open', 'merged', 'closed', 'all'])
  expect(await complete('into', 'open', '--hea')).toEqual([expect.stringMatching(/^--head\t/)])
  // A command wins over an alias.
  expect(await complete('cr', 'sho')).toEqual([expect.stringMatching(/^show\t/)])
  expect(await complete('nothing', '')).toEqual([''])
  await writeFile(config, '{', { mode: 0o600 })
  expect(await complete('vers')).toEqual([expect.stringMatching(/^version\t/)])
})
