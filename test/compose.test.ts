/** The files of deploy/compose, without an engine. test/container/compose.test.ts runs them. */
import { describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

import manifest from '../package.json' with { type: 'json' }
import { settings } from '../packages/cli/src/self-host/settings.ts'

const read = (path: string) => readFileSync(join(import.meta.dir, '..', path), 'utf8')
const text = read('deploy/compose/compose.yaml')
const { services } = Bun.YAML.parse(text) as {
  services: { server: { image: string; ports: string[]; environment: Record<string, string> } }
}

describe('deploy/compose', () => {
  test('its image is that of the package', () => {
    expect(services.server.image).toBe(`\${SERVER_IMAGE:-svc.local/svc:${manifest.version}}`)
  })

  test('it sets only settings of the server, and publishes on loopback alone', () => {
    const known = new Set([...Object.keys(settings), 'HOME'])
    expect(Object.keys(services.server.environment).filter((name) => !known.has(name))).toEqual([])
    for (const port of services.server.ports) expect(port).toStartWith('127.0.0.1:')
  })

  test('its variables are in the manual', () => {
    const manual = read('docs/operate/container.md')
    const variables = [...text.matchAll(/\$\{(\w+)/g)].map(([, name]) => name!)
    expect(variables.length).toBeGreaterThan(3)
    for (const name of variables) expect(manual).toContain(`\`${name}\``)
  })

  test('its users and name services are those of the chart', () => {
    const chart = read('deploy/chart/templates/etc.yaml')
    for (const name of ['passwd', 'nsswitch.conf'])
      for (const line of read(`deploy/compose/etc/${name}`).trim().split('\n')) expect(chart).toContain(`    ${line}\n`)
  })
})
