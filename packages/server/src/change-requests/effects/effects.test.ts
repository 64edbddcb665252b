import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { ChangeRequest, MergePreview } from '@svc/contract'
import { makeTestApp, type TestApp } from '../../test-app.ts'
import { type TestProject, testProject } from '../testing.ts'

setDefaultTimeout(120_000)
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

const effects = async (cr: ChangeRequest, of = project) =>
  (await server.request<MergePreview>('GET', `${of.path(cr.cr_id, 'merge-preview')}?include=effects`)).body.effects!

describe('the effects of a change request', () => {
  test('returns the effects as data and as sentences', async () => {
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
      details: expect.arrayContaining([
        // An empty list was nothing to replace.
        expect.objectContaining({ fields: [{ field: 'env.required', before: null, after: 'API_KEY' }] }),
      ]) as unknown,
      secrets_missing: ['API_KEY'],
      manifest_issues: [{ path: 'sandbox.cpu', severity: 'error' }],
    })
    expect(found.words).toEqual([
      expect.stringMatching(/^svc\.toml:\d+: sandbox\.cpu must be a number/) as never,
      'Secret API_KEY is needed and not set.',
      'Trigger gone is removed.',
      'Trigger new is added: it starts sessions at 03:00 (Europe/Berlin).',
      'Trigger switched is enabled: it starts sessions at 03:00 (UTC).',
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

  test('names the host of a connector, the secret it gets, and the previous ones', async () => {
    const connector = (slug: string, url: string, secret?: string) =>
      `[[connectors]]\nslug = "${slug}"\ntype = "http"\nurl = "${url}"\n${secret === undefined ? '' : `auth = { type = "bearer", secret_env = "${secret}" }\n`}`
    const other = testProject(
      server,
      await server.managedProject({
        'svc.toml': [
          connector('gone', 'https://gone.example'),
          connector('moved', 'https://api.example/v1', 'KEY'),
          connector('path', 'https://api.example/v1', 'KEY'),
          connector('plain', 'https://api.example/v1'),
        ].join(''),
      }),
    )
    const cr = await other.open('work', {
      'svc.toml': [
        connector('moved', 'https://xn--pi-8kc.example:8443/v1', 'KEY'),
        connector('new', 'https://new.example', 'OTHER'),
        connector('path', 'https://api.example/v2', 'KEY'),
        connector('plain', 'http://api.example/v1', 'KEY'),
      ].join(''),
    })
    const { connectors, words } = await effects(cr, other)
    expect(connectors).toHaveLength(5)
    expect(connectors).toContainEqual({
      name: 'moved',
      change: 'changed',
      goes: { host: 'xn--pi-8kc.example:8443', encrypted: true, secret: 'KEY' },
      went: { host: 'api.example', encrypted: true, secret: 'KEY' },
    })
    expect(words.filter((sentence) => sentence.startsWith('Connector'))).toEqual([
      'Connector gone is removed.',
      'Connector moved is changed: secret KEY is sent to xn--pi-8kc.example:8443; until now to api.example.',
      'Connector new is added: secret OTHER is sent to new.example.',
      'Connector path is changed: secret KEY is sent to api.example.',
      'Connector plain is changed: secret KEY is sent to api.example, unencrypted; until now no secret, encrypted.',
    ])
  })

  test('names a missing secret only where the change request needs it anew', async () => {
    const connector = (slug: string) =>
      `[[connectors]]\nslug = "${slug}"\ntype = "http"\nurl = "https://pay.example"\nauth = { type = "bearer", secret_env = "PAY_KEY" }\n`
    const needy = `[env]\nrequired = ["API_KEY"]\n${connector('pay')}`
    const at = testProject(server, await server.managedProject({ 'svc.toml': needy }))
    const missing = async (head: string, files: Record<string, string>) => {
      const { secrets_missing, words } = await effects(await at.open(head, files), at)
      return [secrets_missing, words.filter((each) => each.startsWith('Secret '))]
    }
    expect(await missing('code', { 'a.txt': 'a\n' })).toEqual([[], []])
    expect(await missing('setting', { 'svc.toml': `${needy}[runtime]\nmodel = "a/b"\n` })).toEqual([[], []])
    // One more use of a secret that is missing already.
    expect(await missing('more', { 'svc.toml': `${needy}${connector('refund')}` })).toEqual([
      ['PAY_KEY'],
      ['Secret PAY_KEY is needed and not set.'],
    ])
  })

  test('shows each entry before and after, when it fires next, and what a person should confirm', async () => {
    const stripe = 'auth = { type = "bearer", secret_env = "STRIPE_KEY" }\n'
    const connector = (url: string) => `[[connectors]]\nslug = "pay"\ntype = "http"\nurl = "${url}"\n${stripe}`
    const schedule = (cron: string) =>
      `[[triggers]]\nslug = "retry"\ntype = "cron"\ncron = "${cron}"\ntimezone = "Europe/Zagreb"\nprompt = "Go."\n`
    const other = testProject(
      server,
      await server.managedProject({
        'svc.toml': `${schedule('0 6 * * *')}${connector('https://api.stripe.example')}[sandbox]\negress = ["npm.example"]\n`,
      }),
    )
    const cr = await other.open('work', {
      'svc.toml': `${schedule('0 */2 * * *')}${connector('https://hooks.stripe.example')}${app('site', 'command = "run"\nenv = { KEY = "${STRIPE_KEY}" }')}[sandbox]\negress = ["npm.example", "up.example"]\n`,
    })
    const { details } = await effects(cr, other)
    expect(details.map(({ kind, name, change, fields, confirm }) => ({ kind, name, change, fields, confirm }))).toEqual(
      [
        {
          ...{ kind: 'trigger', name: 'retry', change: 'changed', confirm: [] },
          fields: [
            {
              field: 'schedule',
              before: 'At 06:00 (Europe/Zagreb)',
              after: 'On the hour, every 2 hours (Europe/Zagreb)',
            },
          ],
        },
        {
          ...{ kind: 'app', name: 'site', change: 'added', confirm: ['App site gets the secret STRIPE_KEY.'] },
          fields: [
            { field: 'command', before: null, after: 'run' },
            { field: 'env.KEY', before: null, after: '${STRIPE_KEY}' },
            { field: 'enabled', before: null, after: 'on' },
          ],
        },
        {
          ...{ kind: 'connector', name: 'pay', change: 'changed' },
          fields: [{ field: 'url', before: 'https://api.stripe.example', after: 'https://hooks.stripe.example' }],
          confirm: ['The secret STRIPE_KEY goes to hooks.stripe.example, where this project has not sent it before.'],
        },
        {
          ...{ kind: 'setting', name: 'sandbox.egress', change: 'changed' },
          fields: [{ field: 'sandbox.egress', before: 'npm.example', after: 'npm.example, up.example' }],
          confirm: ['Agents may reach up.example, with every secret that their sessions have.'],
        },
      ],
    )
    const times = details[0]!.next_fire_at.map((at) => new Date(at).getTime())
    expect(times).toHaveLength(3)
    // The zone of the schedule, which is not that of a reader.
    expect(details.map(({ timezone }) => timezone)).toEqual(['Europe/Zagreb', undefined, undefined, undefined])
    expect([times[1]! - times[0]!, times[2]! - times[1]!]).toEqual([7_200_000, 7_200_000])
  })

  test('asks to confirm an svc.toml that is ignored as a whole', async () => {
    const other = testProject(server, await server.managedProject({ 'svc.toml': trigger('nightly') }))
    const cr = await other.open('broken', { 'svc.toml': 'svc_version = [\n' })
    const { details } = await effects(cr, other)
    expect(details.map(({ name, change, confirm }) => [name, change, confirm])).toEqual([
      ['svc.toml', 'removed', ["svc.toml can't be read, so its triggers, apps, checks and settings all end."]],
      ['nightly', 'removed', []],
    ])
    const mistaken = await other.open('mistaken', { 'svc.toml': '[[triggers]]\nslug = "x"\n' })
    expect((await effects(mistaken, other)).details.flatMap(({ confirm }) => confirm)).toEqual([])
  })

  test('returns no effects for code that no app is built from, and omits them unless requested', async () => {
    const other = testProject(server, await server.managedProject({ 'svc.toml': trigger('kept') }))
    const cr = await other.open('code', { 'a.txt': 'a\n' })
    const path = other.path(cr.cr_id, 'merge-preview')
    expect((await server.request<MergePreview>('GET', `${path}?include=collisions,effects`)).body).toMatchObject({
      collisions: [],
      effects: { applies: true, triggers: [], words: [] },
    })
    expect((await server.request<MergePreview>('GET', path)).body.effects).toBeUndefined()
  })

  test('returns no effects when the base is not the default branch', async () => {
    const base = await project.open('base', { 'x.txt': 'x\n' })
    const cr = await project.open('onto', { 'svc.toml': '' }, { base_ref: base.head_ref })
    expect(await effects(cr)).toMatchObject({
      applies: false,
      triggers: [],
      words: ['Nothing beyond code: the base is not the default branch.'],
    })
  })
})
