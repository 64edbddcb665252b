/** The files of the chart in deploy/chart, without a cluster and without Helm. test/kubernetes/chart.test.ts installs it. */
import { describe, expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

import Ajv from 'ajv'

import manifest from '../package.json' with { type: 'json' }
import { settings } from '../packages/cli/src/self-host/settings.ts'

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
const schema = JSON.parse(read(`${chart}/values.schema.json`)) as Schema

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

  test('it takes the settings of the server and of the system, without a typo or those that it sets for each pod', () => {
    const own = ['DATABASE_URL', 'SVC_BOOTSTRAP_TOKEN', 'SVC_PEER_URL', 'SVC_SERVER_NAME']
    const system = ['HTTPS_PROXY', 'HTTP_PROXY', 'NODE_EXTRA_CA_CERTS', 'NO_PROXY', 'SSL_CERT_FILE', 'TZ']
    const { definitions } = JSON.parse(read(`${chart}/values.schema.json`)) as {
      definitions: { setting: { enum: string[] } }
    }
    const known = [...Object.keys(settings).filter((name) => !own.includes(name)), ...system].toSorted()
    expect(definitions.setting.enum).toEqual(known)
    const isValid = new Ajv({ strict: false }).compile(schema)
    const given = (name: string) => ({ ...values, settings: { [name]: 'x' } })
    expect(['SVC_LLM_MODEL', 'TZ'].filter((name) => !isValid(given(name)))).toEqual([])
    expect([...own, 'SVC_LLM_MODLE', 'LLM_MODEL'].filter((name) => isValid(given(name)))).toEqual([])
    expect(isValid({ ...values, secretSettings: { SVC_PEER_URL: { secret: 'a', key: 'b' } } })).toBe(false)
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
