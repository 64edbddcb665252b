import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { ChangeRequest, MergePreview } from '@svc/contract'
import { makeTestApp, type TestApp } from '../test-app.ts'
import { type TestProject, testProject } from './testing.ts'

setDefaultTimeout(60_000)
const trigger = (slug: string, more = '') =>
  `[[triggers]]\nslug = "${slug}"\ntype = "cron"\ncron = "0 3 * * *"\nprompt = "Go."\n${more}`
const app = (slug: string, more: string) => `[[apps]]\nslug = "${slug}"\n${more}\n`
let server: TestApp
let project: TestProject

beforeAll(async () => {
  server = await makeTestApp()
  project = testProject(
    server,
    await server.managedProject({
      'svc.toml': `${trigger('kept')}${trigger('switched', 'enabled = false\n')}${trigger('gone')}${app('site', 'static_dir = "public"')}${app('api', 'command = "run"')}[env]\nrequired = []\n`,
      'public/index.html': 'a\n',
      '.svc/runtime/skills/deploy/SKILL.md': 'old\n',
      '.svc/runtime/agents/build.md': 'old\n',
    }),
  )
})
afterAll(() => server.close())

const effects = async (cr: ChangeRequest) =>
  (await server.request<MergePreview>('GET', `${project.path(cr.cr_id, 'merge-preview')}?include=effects`)).body
    .effects!

describe('the effects of a change request', () => {
  test('are told in data and in words', async () => {
    const cr = await project.open('work', {
      'svc.toml': `${trigger('kept')}${trigger('switched')}${trigger('new', 'timezone = "Europe/Berlin"\n')}${app('site', 'static_dir = "public"')}${app('api', 'command = "run"')}[[checks]]\nname = "unit"\ncommand = "npm test"\n[env]\nrequired = ["API_KEY"]\n[runtime]\nmodel = "a/b"\n[sandbox]\ncpu = "many"\n`,
      'public/index.html': 'b\n',
      '.svc/runtime/skills/deploy/SKILL.md': 'new\n',
      '.svc/runtime/skills/review/SKILL.md': 'new\n',
      '.svc/runtime/agents/build.md': null,
    })
    const found = await effects(cr)
    expect(found).toMatchObject({
      applies: true,
      triggers: [
        { slug: 'gone', change: 'removed' },
        { slug: 'new', change: 'added' },
        { slug: 'switched', change: 'enabled' },
      ],
      apps: [
        { slug: 'site', change: 'redeployed' },
        { slug: 'api', change: 'redeployed' },
      ],
      skills: [
        { name: 'deploy', change: 'changed' },
        { name: 'review', change: 'added' },
      ],
      agents: [{ name: 'build', change: 'removed' }],
      checks: [{ name: 'unit', change: 'added' }],
      connectors: [],
      settings: ['env.required', 'runtime.model'],
      secrets_missing: ['API_KEY'],
      manifest_issues: [{ path: 'sandbox.cpu', severity: 'error' }],
    })
    expect(found.words).toEqual([
      expect.stringMatching(/^svc\.toml:\d+: sandbox\.cpu has to be a number/) as never,
      'Secret API_KEY is needed and not set.',
      'Trigger gone is removed.',
      'Trigger new is added: it starts sessions at 0 3 * * * Europe/Berlin.',
      'Trigger switched is enabled: it starts sessions at 0 3 * * * UTC.',
      'App site is redeployed.',
      'App api is redeployed.',
      'Skill deploy is changed, for sessions started after the merge.',
      'Skill review is added, for sessions started after the merge.',
      'Agent build is removed.',
      'Check unit is added.',
      'Setting env.required is changed, for sessions started after the merge.',
      'Setting runtime.model is changed, for sessions started after the merge.',
    ])
  })

  test('are none of code alone that no app is built from, and are left out unless asked for', async () => {
    const other = testProject(server, await server.managedProject({ 'svc.toml': trigger('kept') }))
    const cr = await other.open('code', { 'a.txt': 'a\n' })
    const path = other.path(cr.cr_id, 'merge-preview')
    expect((await server.request<MergePreview>('GET', `${path}?include=collisions,effects`)).body).toMatchObject({
      collisions: [],
      effects: { applies: true, triggers: [], words: [] },
    })
    expect((await server.request<MergePreview>('GET', path)).body.effects).toBeUndefined()
  })

  test('are none where the base is another branch', async () => {
    const base = await project.open('base', { 'x.txt': 'x\n' })
    const cr = await project.open('onto', { 'svc.toml': '' }, { base_ref: base.head_ref })
    expect(await effects(cr)).toMatchObject({
      applies: false,
      triggers: [],
      words: ['Nothing beyond code: the base is not the default branch.'],
    })
  })
})
