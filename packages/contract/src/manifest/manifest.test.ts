import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { emptyManifest, manifestBytesMax, parseManifest } from './manifest.ts'

const pathsOf = (text: string) => parseManifest(text).issues.map((issue) => issue.path)

const trigger = {
  ...{ type: 'cron' as const, cron: null, timezone: 'UTC', run_at: null, agent: null, model: null },
  ...{ enabled: true, secret_env: null },
}

const whole = `svc_version = 1
[project]
name = "Demo"
description = "A demo"
[env]
required = ["A_KEY"]
optional = ["B"]
[runtime]
config_dir = "agents"
command = "node runtime.js"
model = "svc/x"
[sandbox]
dockerfile = ".svc/Dockerfile"
cpu = 2
memory = "4GiB"
idle_minutes = 5
egress = ["@packages"]

[[triggers]]
slug = "nightly"
type = "cron"
cron = "0 3 * * 1-5"
timezone = "Europe/Berlin"
prompt = "Go."
enabled = false

[[triggers]]
slug = "once"
type = "cron"
run_at = 2027-01-31T09:00:00
prompt = "Once."

[[triggers]]
slug = "hook"
type = "webhook"
secret_env = "HOOK"
agent = "triage"
prompt = "{{ payload.a }}"

[[apps]]
slug = "site"
static_dir = "public"
build = "npm run build"
[apps.env]
A = "b"

[[connectors]]
slug = "tickets"
type = "mcp"
url = "https://tickets.example/mcp"
auth = { type = "bearer", secret_env = "TICKETS" }

[[channels]]
platform = "slack"
events = ["change_request.merged"]

[[checks]]
name = "unit"
command = "npm test"
`

describe('svc.toml', () => {
  test('reads a file without svc settings as the empty manifest', () => {
    for (const text of ['', '\n', '# nothing\n', '\u{feff}svc_version = 1\n', '[env]\n[sandbox]\n'])
      expect(parseManifest(text)).toEqual({ manifest: emptyManifest, issues: [] })
  })

  test('reads every setting of a manifest', () => {
    const { manifest, issues } = parseManifest(whole)
    expect(issues).toEqual([])
    expect(manifest).toEqual({
      svc_version: 1,
      project: { name: 'Demo', description: 'A demo' },
      env: { required: ['A_KEY'], optional: ['B'] },
      runtime: { config_dir: 'agents', command: ['node', 'runtime.js'], model: 'svc/x' },
      sandbox: { dockerfile: '.svc/Dockerfile', cpu: 2, memory: '4GiB', idle_minutes: 5, egress: ['@packages'] },
      triggers: [
        { ...trigger, slug: 'nightly', cron: '0 3 * * 1-5', timezone: 'Europe/Berlin', prompt: 'Go.', enabled: false },
        { ...trigger, slug: 'once', run_at: '2027-01-31T09:00:00.000', prompt: 'Once.' },
        { ...trigger, slug: 'hook', type: 'webhook', secret_env: 'HOOK', agent: 'triage', prompt: '{{ payload.a }}' },
      ],
      apps: [
        {
          ...{ slug: 'site', command: null, static_dir: 'public', build: 'npm run build', port: null },
          ...{ env: { A: 'b' }, enabled: true },
        },
      ],
      connectors: [
        {
          ...{ slug: 'tickets', type: 'mcp', url: 'https://tickets.example/mcp' },
          auth: { type: 'bearer', secret_env: 'TICKETS', header: null },
        },
      ],
      channels: [{ platform: 'slack', agent: null, events: ['change_request.merged'] }],
      checks: [{ name: 'unit', command: 'npm test' }],
    })
  })

  test('keeps the valid tables when one table is invalid', () => {
    const { manifest, issues } = parseManifest('[env]\nrequired = "A"\n[runtime]\nconfig_dir = "agents"\n')
    expect(manifest.runtime.config_dir).toBe('agents')
    expect(manifest.env).toEqual({ required: [], optional: [] })
    expect(issues).toMatchObject([{ path: 'env.required', severity: 'error', line: 2, column: 12 }])
    const mixed = parseManifest(
      '[env]\nrequired = ["A", "B C"]\n[runtime]\nconfig_dir = "/etc"\nmodel = "m"\n',
    ).manifest
    expect(mixed.env.required).toEqual(['A'])
    expect(mixed.runtime).toEqual({ config_dir: emptyManifest.runtime.config_dir, command: null, model: 'm' })
  })

  test('keeps the valid triggers and all other tables when one trigger is invalid', () => {
    const { manifest } = parseManifest(whole.replace('0 3 * * 1-5', 'at night'))
    expect(manifest.triggers.map((one) => one.slug)).toEqual(['once', 'hook'])
    expect(manifest.apps).toHaveLength(1)
  })

  test('reports the position of a TOML syntax error', () => {
    const { manifest, issues } = parseManifest('[env]\nrequired = [\n')
    expect(manifest).toEqual(emptyManifest)
    expect(issues).toHaveLength(1)
    expect(issues[0]!.line).toBeGreaterThan(0)
    expect(issues[0]!.column).toBeGreaterThan(0)
    expect(issues[0]!.message).not.toContain('\n')
  })

  test.each([
    ['..', '[runtime]\nconfig_dir = ".."', 'runtime.config_dir'],
    ['a way out', '[runtime]\nconfig_dir = "a/../../etc"', 'runtime.config_dir'],
    ['an absolute folder', '[runtime]\nconfig_dir = "/etc"', 'runtime.config_dir'],
    ['an option', '[runtime]\nconfig_dir = "--upload-pack=x"', 'runtime.config_dir'],
    ['an empty folder', '[runtime]\nconfig_dir = ""', 'runtime.config_dir'],
    ['a newline in a folder', '[runtime]\nconfig_dir = "a\\nb"', 'runtime.config_dir'],
    ['a number for a folder', '[runtime]\nconfig_dir = 1', 'runtime.config_dir'],
    ['a long model', `[runtime]\nmodel = "${'m'.repeat(201)}"`, 'runtime.model'],
    ['a table that is a list', 'runtime = []', 'runtime'],
    ['a table that is text', 'env = "A"', 'env'],
    ['a name that is none', '[env]\nrequired = ["A B"]', 'env.required.0'],
    ['a number among names', '[env]\noptional = [1]', 'env.optional.0'],
  ])('reports an issue for %s', (_, text, path) => {
    expect(pathsOf(text)).toContain(path)
    expect(parseManifest(text).manifest.runtime.config_dir).toBe(emptyManifest.runtime.config_dir)
  })

  test('warns about a reserved name and still applies the rest', () => {
    const { manifest, issues } = parseManifest('[env]\nrequired = ["SVC_TOKEN", "A"]\n')
    expect(issues).toMatchObject([{ path: 'env.required.0', severity: 'warning', line: 2, column: 13 }])
    expect(manifest.env.required).toEqual(['A'])
  })

  test('does not read a file larger than 256 KiB', () => {
    const text = `# ${'x'.repeat(manifestBytesMax)}\n[runtime]\nconfig_dir = "agents"\n`
    expect(parseManifest(text)).toMatchObject({
      manifest: emptyManifest,
      issues: [{ message: 'is larger than 256 KiB' }],
    })
  })

  test('never throws or changes a prototype, for any generated input', () => {
    const before = structuredClone(emptyManifest)
    const line = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom(
        '[env]',
        '[runtime]',
        'required = [',
        ']',
        'config_dir = "x"',
        '[[env]]',
        'a.b.c = 1',
        '"""',
        "'''",
      ),
      fc.constantFrom(
        '[__proto__]',
        '__proto__ = {polluted = 1}',
        '[constructor.prototype]',
        'polluted = true',
        '\u{feff}',
      ),
      fc.constantFrom(
        'x = 0x',
        'x = 1979-99-99',
        'x = inf',
        'x = {',
        `x = ${'['.repeat(2_000)}`,
        `${'a.'.repeat(500)}a = 1`,
      ),
    )
    fc.assert(
      fc.property(fc.array(line, { maxLength: 8 }), (lines) => {
        const { manifest, issues } = parseManifest(lines.join('\n'))
        expect(Array.isArray(manifest.env.required)).toBeTrue()
        expect(typeof manifest.runtime.config_dir).toBe('string')
        for (const issue of issues) expect(typeof issue.message).toBe('string')
        expect(({} as { polluted?: unknown }).polluted).toBeUndefined()
      }),
      { numRuns: 500 },
    )
    expect(emptyManifest).toEqual(before)
  })
})
