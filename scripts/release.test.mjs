import { expect, test } from 'bun:test'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { writeComponents } from './release.mjs'

test('the list of components has what programs contain, with their versions, and no tool of the build', () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-release-'))
  try {
    writeComponents(folder)
    const { bomFormat, metadata, components } = JSON.parse(readFileSync(join(folder, 'sbom.cdx.json'), 'utf8'))
    expect([bomFormat, metadata.component.name]).toEqual(['CycloneDX', 'svc'])
    const names = components.map(({ name }) => name)
    for (const name of ['hono', 'pg', 'kysely', 'zod', `opencode-${process.platform}-${process.arch}`])
      expect(names).toContain(name)
    for (const name of ['playwright-core', 'oxlint', 'typescript', 'knip']) expect(names).not.toContain(name)
    for (const { name, version, purl } of components)
      expect([name, version, purl]).toEqual([name, expect.stringMatching(/^\d/), expect.stringContaining('pkg:npm/')])
  } finally {
    rmSync(folder, { recursive: true })
  }
}, 120_000)
