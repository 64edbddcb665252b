import { expect, test } from 'bun:test'
import { Glob } from 'bun'
import { join } from 'node:path'
import { assignment, settings } from './settings.ts'

const server = join(import.meta.dir, '../../../server/src')
/** Only for tests; no build has it. */
const hidden = ['SVC_FAILPOINTS']

test('svc self-host env set knows every variable that the server reads', async () => {
  const read = new Set<string>()
  const files = ['config*.ts', 'config/*.ts'].flatMap((pattern) => [...new Glob(pattern).scanSync(server)])
  for (const file of files) {
    if (file.endsWith('.test.ts')) continue
    const text = await Bun.file(join(server, file)).text()
    for (const [, name] of text.matchAll(/\b(SVC_[A-Z_]*[A-Z])\b/g)) read.add(name!)
  }
  expect(read.size).toBeGreaterThan(50)
  expect([...read].filter((name) => !(name in settings) && !hidden.includes(name))).toEqual([])
})

test('svc self-host env set knows every variable of the operator guide', async () => {
  const guide = join(import.meta.dir, '../../../../docs/operate')
  /** Variables of the client, a sandbox or a benchmark, which the server does not read. */
  const ofOthers =
    /^SVC_(CLI_TOKEN|API_URL|PROJECT_ID|CONFIG_FILE|BENCH_|TEST_|SESSION_ID|LLM_BASE_URL|LLM_API_KEY|LLM_SHAPE)/
  const named = new Set<string>()
  for await (const file of new Glob('*.md').scan(guide))
    for (const [, name] of (await Bun.file(join(guide, file)).text()).matchAll(/`(SVC_[A-Z_]*[A-Z]|DATABASE_URL)[`=]/g))
      if (!ofOthers.test(name!)) named.add(name!)
  expect(named.size).toBeGreaterThan(50)
  expect([...named].filter((name) => !(name in settings))).toEqual([])
})

test('an assignment for a shell quotes its value and leaves out a secret', () => {
  expect(assignment('SVC_PORT', '8421')).toBe('SVC_PORT=8421')
  expect(assignment('SVC_OIDC_NAME', "The team's")).toBe(`SVC_OIDC_NAME='The team'\\''s'`)
  expect(assignment('SVC_LLM_UPSTREAM_KEY', 'a-long-secret-value')).toBe('SVC_LLM_UPSTREAM_KEY=-')
})
