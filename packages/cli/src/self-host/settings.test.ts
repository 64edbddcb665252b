import { expect, test } from 'bun:test'
import { Glob } from 'bun'
import { join } from 'node:path'
import { settings } from './settings.ts'

const server = join(import.meta.dir, '../../../server/src')
/** Only for tests, and in no build. */
const hidden = ['SVC_FAILPOINTS']

test('svc self-host env set knows every variable that the server reads', async () => {
  const read = new Set<string>()
  for await (const file of new Glob('config*.ts').scan(server)) {
    if (file.endsWith('.test.ts')) continue
    const text = await Bun.file(join(server, file)).text()
    for (const [, name] of text.matchAll(/\b(SVC_[A-Z_]*[A-Z])\b/g)) read.add(name!)
  }
  expect(read.size).toBeGreaterThan(50)
  expect([...read].filter((name) => !(name in settings) && !hidden.includes(name))).toEqual([])
})
