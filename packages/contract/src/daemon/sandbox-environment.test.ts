import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { sandboxVariablesTable } from './sandbox-environment.ts'

test('the guide lists every variable of a sandbox as the contract defines it', async () => {
  const guide = await Bun.file(join(import.meta.dir, '../../../../docs/guide/environment.md')).text()
  // The formatter widens the columns.
  const narrow = guide.replaceAll(/ *\| */g, '|').replaceAll(/-{3,}/g, '---')
  expect(narrow).toContain(sandboxVariablesTable().replaceAll(/ *\| */g, '|'))
})
