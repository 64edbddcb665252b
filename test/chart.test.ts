/**
 * The files of the chart in deploy/chart, and what Helm makes of them where `npm run test:kubernetes` has built it, without a
 * cluster. test/kubernetes/chart.test.ts installs the chart.
 */
import { describe, expect, spyOn, test } from 'bun:test'
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import Ajv from 'ajv'

import manifest from '../package.json' with { type: 'json' }
import { settings } from '../packages/cli/src/self-host/settings.ts'
import { closest } from '../packages/contract/src/schemas/closest.ts'
import { parseConfig } from '../packages/server/src/config.ts'
import { Settings } from '../packages/server/src/config/settings.ts'
import { helm } from './kubernetes/cluster.ts'

const root = join(import.meta.dir, '..')
const chart = 'deploy/chart'
const read = (path: string) => readFileSync(join(root, path), 'utf8')
const templates = readdirSync(join(root, chart, 'templates')).map((name) => `${chart}/templates/${name}`)
const valuesText = read(`${chart}/values.yaml`)
const values = Bun.YAML.parse(valuesText) as Record<string, unknown>

interface Schema {
  properties?: Record<string, Schema>
  additionalProperties?: unknown
}
const schema = JSON.parse(read(`${chart}/values.schema.json`)) as Schema & {
  definitions: { settingValues: Schema; fileSetting: { enum: string[] } }
}

const isGroup = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length > 0

/** `sandboxes.cpuMax` and so on; resources are Kubernetes' own. */
function pathsOf(group: Record<string, unknown>, above = ''): string[] {
  return Object.entries(group).flatMap(([name, value]) =>
    isGroup(value) && name !== 'resources' ? pathsOf(value, `${above}${name}.`) : [`${above}${name}`],
  )
}

function schemaPathsOf({ properties = {} }: Schema, above = ''): string[] {
  return Object.entries(properties).flatMap(([name, inner]) =>
    inner.properties === undefined ? [`${above}${name}`] : schemaPathsOf(inner, `${above}${name}.`),
  )
}

/** The server accepts these values of a setting that is a choice, a number, a switch or an address. Read from its configuration. */
function rulesOfSettings(): Record<string, object> {
  const spies = {
    choice: spyOn(Settings.prototype, 'choice'),
    integer: spyOn(Settings.prototype, 'integer'),
    flag: spyOn(Settings.prototype, 'flag'),
    url: spyOn(Settings.prototype, 'url'),
  }
  parseConfig({ SVC_BACKUP_S3_ADDRESSING: 'path' })
  const rules = [
    ...spies.choice.mock.calls.map(([name, choices]) => [name, { enum: ['', ...choices] }]),
    ...spies.integer.mock.calls.map(([name, , minimum, maximum]) => [
      name,
      { type: ['integer', 'string'], pattern: '^([0-9]{1,9})?$', minimum, maximum },
    ]),
    ...spies.flag.mock.calls.map(([name]) => [
      name,
      { type: ['integer', 'string'], pattern: '^(0|1|false|true)?$', minimum: 0, maximum: 1 },
    ]),
    ...spies.url.mock.calls.map(([name]) => [name, { pattern: '^(https?://[^/].*)?$' }]),
  ] as [string, object][]
  for (const spy of Object.values(spies)) spy.mockRestore()
  return Object.fromEntries(rules.filter(([name]) => !refusedSettings().has(name)).toSorted())
}

/** Settings that the chart refuses, with the values to use instead. */
function refusedSettings(): Map<string, string> {
  const refusals = read(`${chart}/templates/_refuse.tpl`).matchAll(/^ {2}"(\w+)" "(.*)"$/gm)
  return new Map([...refusals].map(([, name, use]) => [name!, use!]))
}

interface Rule {
  apiGroups: string[]
  resources: string[]
}
const rulesOf = (yaml: string) => (Bun.YAML.parse(yaml) as { rules: Rule[] }).rules

describe('the chart', () => {
  test('its version and that of its image are those of the package', () => {
    const described = Bun.YAML.parse(read(`${chart}/Chart.yaml`)) as Record<string, string>
    expect([described['version'], described['appVersion']]).toEqual([manifest.version, manifest.version])
    const { repository, tag } = values['image'] as { repository: string; tag: string }
    expect(tag).toBe('')
    expect(read('packages/server/src/startup/sandbox-image.ts')).toContain(`\`${repository}:\${version}\``)
  })

  test('every value is in the schema, which knows no other, and the defaults fit it', () => {
    expect(pathsOf(values).toSorted()).toEqual(
      schemaPathsOf(schema)
        .filter((path) => path !== 'global')
        .toSorted(),
    )
    const validate = new Ajv({ strict: false }).compile(schema)
    expect([validate(values), validate.errors]).toEqual([true, null])
    expect(validate({ ...values, replica: 3 })).toBe(false)
  })

  test('every value has a comment', () => {
    const lines =
      valuesText.slice(0, valuesText.indexOf('\nresources:')) +
      valuesText.slice(valuesText.indexOf('\n# More annotations'))
    const silent = [...lines.matchAll(/^(.*)\n *([\w-]+):/gm)].filter(([, before]) => !before!.trim().startsWith('#'))
    expect(silent.map(([, , name]) => name)).toEqual([])
  })

  test.each(templates)('%s closes what it opens, and names only values that exist', (path) => {
    const text = read(path)
    const actions = [...text.matchAll(/\{\{-?\s*(.*?)\s*-?\}\}/gs)].map(([, action]) => action!)
    expect(text.split('{{').length).toBe(text.split('}}').length)
    const opened = actions.filter((action) => /^(if|range|with|define)\b/.test(action))
    expect(actions.filter((action) => action === 'end')).toHaveLength(opened.length)
    const known = new Set(
      pathsOf(values).flatMap((each) => each.split('.').map((_, at, all) => all.slice(0, at + 1).join('.'))),
    )
    const named = [...text.matchAll(/\.Values\.([\w.]+)/g)].map(([, name]) => name!)
    expect(named.filter((name) => !known.has(name))).toEqual([])
  })

  test('it sets only settings that the server reads', () => {
    const named = [...read(`${chart}/templates/_env.tpl`).matchAll(/"(SVC_\w+)" |name: (\w+)$/gm)].map(
      ([, one, other]) => one ?? other!,
    )
    expect(named.length).toBeGreaterThan(15)
    expect(named.filter((name) => !Object.hasOwn(settings, name))).toEqual([])
  })

  test('it takes the settings of the server and of the system', () => {
    const system = ['HTTPS_PROXY', 'HTTP_PROXY', 'NODE_EXTRA_CA_CERTS', 'NO_PROXY', 'SSL_CERT_FILE', 'TZ']
    const known = [...Object.keys(settings), ...system].toSorted()
    expect(read(`${chart}/settings.txt`)).toBe(`${known.join('\n')}\n`)
    expect(schema.definitions.fileSetting.enum).toEqual(known.filter((name) => /_FILE$|_CA_CERTS$/.test(name)))
  })

  test('it refuses values of settings that the server refuses', () => {
    expect(schema.definitions.settingValues.properties).toEqual(rulesOfSettings())
    const isValid = new Ajv({ strict: false }).compile(schema)
    const given = (more: object) => isValid({ ...values, settings: more })
    for (const fine of [
      { SVC_REPLICA: 'async' },
      { SVC_CHECKS_AT_ONCE: 0 },
      { SVC_CHECKS_AT_ONCE: '4' },
      { TZ: 'UTC' },
    ])
      expect([fine, given(fine)]).toEqual([fine, true])
    for (const bad of [{ SVC_REPLICA: 'asyncc' }, { SVC_CHECKS_AT_ONCE: 1001 }, { SVC_LOG: true }, { TZ: {} }])
      expect([bad, given(bad)]).toEqual([bad, false])
  })

  test.each([
    ...['10.0.0.0/8', '10.0.0.1', 'loopback', 'fd00::/8', '::1', '::ffff:10.0.0.1'].map(
      (proxy) => [proxy, true] as const,
    ),
    ...['10.0.0.0/99', '10.0.0.0/0', '10.0.0', '256.0.0.1', 'fd00::/129', 'ingress', ''].map(
      (it) => [it, false] as const,
    ),
  ])('trusted proxies are addresses as the server takes them: %p', (proxy, isOne) => {
    const isValid = new Ajv({ strict: false }).compile(schema)
    expect(isValid({ ...values, trustedProxies: [proxy] })).toBe(isOne)
    // The server leaves out an empty entry.
    const parse = () => parseConfig({ SVC_TRUSTED_PROXIES: proxy })
    if (isOne || proxy === '') expect(parse).not.toThrow()
    else expect(parse).toThrow('SVC_TRUSTED_PROXIES must be')
  })

  test('it refuses every setting that it sets itself, and names values that exist', () => {
    const env = read(`${chart}/templates/_env.tpl`)
    const set = [...env.matchAll(/^ {2}"(SVC_\w+)" |^- name: (\w+)$/gm)].map(([, one, other]) => one ?? other!)
    const refused = refusedSettings()
    // The format of the log is free.
    expect([...refused.keys()].toSorted()).toEqual(
      [...set, 'SVC_PEER_LISTEN'].filter((name) => name !== 'SVC_LOG').toSorted(),
    )
    const paths = pathsOf(values)
    expect([...refused.values()].filter((use) => use !== '' && !paths.includes(use))).toEqual([])
  })

  test('the rights of its servers are those of the manual, without what only a server outside of the cluster needs', () => {
    const [, manual = ''] = /```yaml\n([^`]*kind: Role\n[^`]*)```/.exec(read('docs/operate/kubernetes.md'))!
    const role = read(`${chart}/templates/rbac.yaml`)
      .split('---\n')
      .find((part) => part.includes('kind: Role\n'))!
    const rules = rulesOf(role.slice(role.indexOf('rules:')).replaceAll(/^ *\{\{.*\}\}\n/gm, ''))
    expect(rules).toEqual(rulesOf(manual).filter(({ resources }) => !resources.includes('pods/portforward')))
  })
})

const needed = {
  ...{ publicUrl: 'https://svc.example.com', previewDomain: 'svc-previews.example' },
  ...{ database: { existingSecret: 'database' }, masterKey: { existingSecret: 'master-key' } },
  networkPolicy: { ingressFrom: [{ podSelector: {} }] },
}

interface Container {
  env: { name: string; value?: string }[]
  volumeMounts: object[]
}

interface Rendered {
  kind: string
  spec: {
    minReadySeconds: number
    tls: object[]
    template: { spec: { containers: Container[]; volumes: object[] } }
  }
}

/** Reaches no cluster. */
function helmTemplate(more: object, folder = join(root, chart)) {
  const command = [helm, 'template', 'svc', folder, '--kube-version', '1.34', '--values', '-']
  return Bun.spawnSync(command, { stdin: Buffer.from(JSON.stringify({ ...needed, ...more })) })
}

/** Only an installation renders the notes, so here they are an object of a copy of the chart. */
function notes(more: object): string {
  const folder = mkdtempSync(join(tmpdir(), 'svc-chart-'))
  try {
    cpSync(join(root, chart), folder, { recursive: true })
    const object = `{{ define "notes" }}${read(`${chart}/templates/NOTES.txt`)}{{ end }}kind: Notes\ntext: {{ include "notes" . | quote }}`
    writeFileSync(join(folder, 'templates/notes.yaml'), object)
    const objects = Bun.YAML.parse(helmTemplate(more, folder).stdout.toString()) as ({
      kind: string
      text: string
    } | null)[]
    return objects.find((each) => each?.kind === 'Notes')!.text
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** The objects of the chart, or the message of its refusal. */
function render(more: object): Rendered[] | string {
  const ran = helmTemplate(more)
  if (ran.exitCode !== 0) return ran.stderr.toString()
  return (Bun.YAML.parse(ran.stdout.toString()) as (Rendered | null)[]).filter((each) => each !== null)
}

function rendered(more: object, kind: string): Rendered {
  const objects = render(more)
  if (typeof objects === 'string') throw new Error(objects)
  return objects.find((each) => each.kind === kind)!
}

const serverOf = (more: object) => rendered(more, 'StatefulSet').spec.template.spec
const settingOf = (more: object, name: string) => serverOf(more).containers[0]!.env.filter((each) => each.name === name)

describe.skipIf(!existsSync(helm))('the chart as Helm renders it', () => {
  test('a number reaches the server as it was written', () => {
    const numbers = { SVC_MIRRORS_MAX_MB: 1_234_567, SVC_CHECKS_AT_ONCE: 0, OTEL_TRACES_SAMPLER_ARG: 0.25 }
    for (const [name, number] of Object.entries(numbers))
      expect(settingOf({ settings: numbers }, name)).toEqual([{ name, value: String(number) }])
    const name = 'SVC_SANDBOX_LEASE_SECONDS'
    expect(settingOf({ sandboxes: { leaseSeconds: 0 } }, name)).toEqual([{ name, value: '0' }])
  })

  test('sandboxes get their pull Secrets by a setting', () => {
    const name = 'SVC_KUBERNETES_PULL_SECRETS'
    expect(settingOf({ sandboxes: { imagePullSecrets: ['one', 'two'] } }, name)).toEqual([{ name, value: 'one,two' }])
  })

  test('a setting of the chart is refused with the value to use', () => {
    const from = { secret: 'a', key: 'b' }
    expect(render({ settings: { SVC_SANDBOX_LEASE_SECONDS: 0 } })).toContain(
      'settings.SVC_SANDBOX_LEASE_SECONDS: the chart sets it. Use sandboxes.leaseSeconds instead.',
    )
    expect(render({ secretSettings: { DATABASE_URL: from } })).toContain(
      'secretSettings.DATABASE_URL: the chart sets it. Use database.existingSecret instead.',
    )
    expect(render({ settings: { SVC_SERVER_NAME: 'a' } })).toContain(
      'settings.SVC_SERVER_NAME: the chart sets it, and no value changes it.',
    )
    expect(render({ settings: { SVC_LLM_MODEL: 'm' }, secretSettings: { SVC_LLM_MODEL: from } })).toContain(
      'SVC_LLM_MODEL is in settings and in secretSettings: keep one of them.',
    )
  })

  test.each([
    'SVC_LLM_MODLE',
    'SVC_BACKUP_DIRS',
    'SVC_REPLIKA',
    'svc_log_level',
    'SVC_CHECK_AT_ONCE',
    'OTEL_SERVICENAME',
  ])('a mistyped setting is refused with the nearest one: %s', (typo) => {
    const names = read(`${chart}/settings.txt`).trim().split('\n')
    const says = `settings.${typo}: the server has no such setting. Did you mean ${closest(typo, names)}?`
    expect(render({ settings: { [typo]: 'x' } })).toContain(says)
  })

  test('a setting that is like none is refused with the page of all', () => {
    expect(render({ secretSettings: { QUUX: { secret: 'a', key: 'b' } } })).toContain(
      'secretSettings.QUUX: the server has no such setting. docs/operate/server.md lists them.',
    )
  })

  test('a value that the server refuses is refused', () => {
    for (const [name, value] of Object.entries({
      SVC_REPLICA: 'asyncc',
      SVC_PROXY_PROTOCOL: 2,
      SVC_CHECKS_AT_ONCE: 1001,
    }))
      expect(render({ settings: { [name]: value } })).toContain(`at '/settings/${name}'`)
    expect(settingOf({ settings: { SVC_PROXY_PROTOCOL: 1 } }, 'SVC_PROXY_PROTOCOL')).toMatchObject([{ value: '1' }])
    expect(render({ trustedProxies: ['10.0.0.0/99'] })).toContain(
      "at '/trustedProxies/0': '10.0.0.0/99' does not match",
    )
  })

  test('a folder for backups that no volume has is refused', () => {
    expect(render({ settings: { SVC_BACKUP_DIR: '/backups' } })).toContain(
      'settings.SVC_BACKUP_DIR: the servers have no volume at /backups. Use a bucket: s3://bucket/prefix/$(SVC_SERVER_NAME).',
    )
  })

  test.each(['kubernetes', 'chart'])('the values in docs/operate/%s.md are valid', (page) => {
    const blocks = [...read(`docs/operate/${page}.md`).matchAll(/^( *)```yaml\n(.*?)^ *```/gms)]
      .map(([, indent, text]) => text!.replaceAll(new RegExp(`^${indent}`, 'gm'), ''))
      .filter((text) => !text.includes('apiVersion:'))
    expect(blocks.length).toBeGreaterThan(0)
    for (const text of blocks) expect(render(Bun.YAML.parse(text) as object)).toBeArray()
  })

  test('a setting may contain the name of its server', () => {
    const place = 's3://backups/svc/$(SVC_SERVER_NAME)'
    const { env } = serverOf({ settings: { SVC_BACKUP_DIR: place } }).containers[0]!
    expect(env).toContainEqual({ name: 'SVC_BACKUP_DIR', value: place })
    // Only variables above one count in it.
    expect(env[0]!.name).toBe('SVC_SERVER_NAME')
  })

  test('a file of a Secret is mounted, and its setting names it', () => {
    const more = { fileSettings: { SVC_LLM_UPSTREAMS_FILE: { secret: 'models', key: 'upstreams.json' } } }
    const [name, path] = ['SVC_LLM_UPSTREAMS_FILE', '/etc/svc-files/SVC_LLM_UPSTREAMS_FILE']
    expect(settingOf(more, name)).toEqual([{ name, value: path }])
    const { containers, volumes } = serverOf(more)
    expect(containers[0]!.volumeMounts).toContainEqual({ name: 'files', mountPath: '/etc/svc-files', readOnly: true })
    const sources = [{ secret: { name: 'models', items: [{ key: 'upstreams.json', path: name }] } }]
    expect(volumes).toContainEqual({ name: 'files', projected: expect.objectContaining({ sources }) })
    expect(JSON.stringify(serverOf({}))).not.toContain('svc-files')
    expect(render({ ...more, settings: { [name]: '/x' } })).toContain(`${name} is in settings and in fileSettings`)
  })

  test('previews may have a certificate of their own', () => {
    const tls = (more: object) => rendered({ ingress: { tlsSecret: 'svc-tls', ...more } }, 'Ingress').spec.tls
    const [host, previews] = ['svc.example.com', '*.svc-previews.example']
    expect(tls({})).toEqual([{ secretName: 'svc-tls', hosts: [host, previews] }])
    expect(tls({ previewTlsSecret: 'previews-tls' })).toEqual([
      { secretName: 'svc-tls', hosts: [host] },
      { secretName: 'previews-tls', hosts: [previews] },
    ])
    expect(render({ ingress: { previewTlsSecret: 'previews-tls' } })).toContain('ingress.tlsSecret is required')
  })

  test('an upgrade leaves the copies of a server time before the next one', () => {
    expect(rendered({}, 'StatefulSet').spec.minReadySeconds).toBe(10)
  })

  test('the notes warn of a missing trusted proxy', () => {
    expect(notes({})).toContain('Set trustedProxies')
    expect(notes({ trustedProxies: ['10.0.0.0/16'] })).not.toContain('trustedProxies')
  })

  test('the format of the log can be changed, and is set once', () => {
    const name = 'SVC_LOG'
    expect(settingOf({ settings: { SVC_LOG: 'pretty' } }, name)).toEqual([{ name, value: 'pretty' }])
    expect(settingOf({ secretSettings: { SVC_LOG: { secret: 'a', key: 'b' } } }, name)).toEqual([
      { name, valueFrom: { secretKeyRef: { name: 'a', key: 'b' } } } as object as { name: string },
    ])
  })
})
