import { afterAll, expect, test } from 'bun:test'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describeFlaky, runTestFiles } from './test-files.mjs'

const folders = []
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})

const failing = `throw new Error('not today')`
const dying = `process.kill(process.pid, 'SIGKILL')`

/** A test file whose first run ends one way and every later one another way. */
function onceThen(first, then, { isLoading = false } = {}) {
  const body = `
    const { existsSync, writeFileSync } = await import('node:fs')
    const mark = import.meta.path + '.ran'
    const isFirst = !existsSync(mark)
    writeFileSync(mark, '')
    console.log(isFirst ? 'this is the first run' : 'this is another run')
    if (isFirst) { ${first} } else { ${then} }`
  const inTest = isLoading ? '' : body
  return `import { test } from 'bun:test'\n${isLoading ? body : ''}\ntest('draws', async () => {${inTest}})\n`
}

async function runIn(files, { testMsMax = 60_000, stuckMs = 110_000 } = {}) {
  const root = mkdtempSync(join(tmpdir(), 'svc-test-files-'))
  folders.push(root)
  for (const [name, text] of Object.entries(files)) writeFileSync(join(root, name), text)
  let shown = ''
  const show = (text) => (shown += text)
  const ran = await runTestFiles({ root, files: Object.keys(files), testMsMax, stuckMs, show })
  const outcomes = ran.results.map(({ file, outcome }) => `${file} ${outcome}`).toSorted()
  return { root, outcomes, flaky: ran.flaky, shown }
}

test('a file that fails once and passes alone has passed and is flaky, with both outputs', async () => {
  const { outcomes, flaky, shown } = await runIn({
    'chance.test.mjs': onceThen(failing, ''),
    'good.test.mjs': `import { test } from 'bun:test'\ntest('is good', () => {})\ntest.skip('is left out', () => {})\n`,
  })
  expect(outcomes).toEqual(['chance.test.mjs passed', 'good.test.mjs passed', 'good.test.mjs skipped'])
  expect(flaky.map(({ file }) => file)).toEqual(['chance.test.mjs'])
  const text = describeFlaky(flaky[0])
  expect(text).toMatch(/failed: draws\n +not today[^]*this is the first run[^]*this is another run/)
  expect(shown).toContain('Once more, alone: chance.test.mjs')
  expect(shown).toContain('(fail) draws')
  expect(shown).not.toMatch(/\((pass|skip)\)|skipped:/)
})

test('a file whose process dies or that does not load gets a second run as well', async () => {
  const { outcomes, flaky } = await runIn({
    'dies.test.mjs': onceThen(dying, ''),
    'loads.test.mjs': onceThen(failing, '', { isLoading: true }),
  })
  expect(outcomes).toEqual(['dies.test.mjs passed', 'loads.test.mjs passed'])
  expect(flaky.map(({ file }) => file).toSorted()).toEqual(['dies.test.mjs', 'loads.test.mjs'])
})

test('a file that fails twice has failed, however it fails', async () => {
  const { outcomes, flaky } = await runIn({
    'fails.test.mjs': onceThen(failing, failing),
    'dies.test.mjs': onceThen(failing, dying),
    'loads.test.mjs': onceThen(failing, failing, { isLoading: true }),
  })
  expect(outcomes).toEqual(['dies.test.mjs failed', 'fails.test.mjs failed', 'loads.test.mjs failed'])
  expect(flaky).toEqual([])
})

test('the time a test may take applies to both runs', async () => {
  const { outcomes, flaky } = await runIn(
    { 'hangs.test.mjs': onceThen('await new Promise(() => {})', 'await new Promise(() => {})') },
    { testMsMax: 500 },
  )
  expect(outcomes).toEqual(['hangs.test.mjs failed'])
  expect(flaky).toEqual([])
})

test('tests of which none ends for long are ended, and do not run again', async () => {
  const { root, outcomes, flaky, shown } = await runIn(
    {
      'hangs.test.mjs': onceThen('await new Promise(() => {})', `writeFileSync(mark + '2', '')`),
      'passes.test.mjs': onceThen('', failing),
    },
    { stuckMs: 3_000 },
  )
  expect(outcomes).toEqual(['hangs.test.mjs failed', 'passes.test.mjs passed'])
  expect(flaky).toEqual([])
  expect(shown).toContain('The tests were ended: it was stuck for 0.05 minutes.')
  expect(shown).toContain('The last tests that ended are in passes.test.mjs.')
  expect(existsSync(join(root, 'hangs.test.mjs.ran2'))).toBe(false)
})

test('more than ten failed files are no chance, and none of them runs again', async () => {
  const names = Array.from({ length: 11 }, (_, n) => `${n}.test.mjs`)
  const { root, outcomes, flaky, shown } = await runIn(
    Object.fromEntries(names.map((name) => [name, onceThen(failing, `writeFileSync(mark + '2', '')`)])),
  )
  expect(outcomes).toEqual(names.map((name) => `${name} failed`).toSorted())
  expect(flaky).toEqual([])
  expect(names.filter((name) => existsSync(join(root, `${name}.ran2`)))).toEqual([])
  expect(shown).toContain('11 files failed.')
})
