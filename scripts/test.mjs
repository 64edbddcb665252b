// `npm test` runs every check. `npm test -- packages/git` runs only the test files whose path contains that text. The last line
// is `N passed, N failed`, plus `, N skipped` when tests were skipped; `N flaky` precedes it when files failed in parallel and
// passed alone.
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { findBun, testMsMax } from './bun.mjs'
import { ensureBuilt } from './build.mjs'
import { main, root } from './console.mjs'
import { ensureInstalled } from './install.mjs'
import { ensureObjectStore, ensurePrometheus, ensureReverseProxies, ensureSshd, ensureTestMachine } from './machine.mjs'
import { describeFlaky, reportedNothing, run, runTestFiles } from './test-files.mjs'

/** The goal for the whole run on two cores. Missing it is reported and is no failure: the machine may be slow. */
const goalMs = 20 * 60_000
/** Longer than any test may take. If no test ends for this long, the run stops; a slow machine alone never triggers it. */
const stuckMs = 25 * 60_000
/** How long each file takes, so that the longest start first: from the last complete run here, or typical times. */
const timings = { own: 'dist/test-timings.json', usual: 'test/timings.json' }
/** More files than these without a report are those of a run that was stopped, and are not listed. */
const silentMax = 10
const began = Date.now()
const bin = (name) => join(root, 'node_modules/.bin', name)

/** Each stage counts as one test. */
const stages = [
  { name: 'types', command: () => [bin('tsc'), '-p', '.'] },
  { name: 'lint', command: () => [bin('oxlint'), '--quiet'] },
  { name: 'format', command: () => [bin('oxfmt'), '--check'] },
  { name: 'unused code', command: () => [bin('knip'), '--no-progress', '--no-config-hints'] },
  { name: 'generated api', command: () => [findBun(), 'packages/contract/generate-api.ts', '--check'] },
]

await main(async () => {
  const filters = process.argv.slice(2)
  const results = []
  results.push(await attempt('install', ensureInstalled))
  if (results[0].outcome === 'failed') return summarise(results, [])
  await ensureTestMachine()
  await ensureSshd()
  await ensureReverseProxies()
  await ensurePrometheus()
  await ensureObjectStore()
  results.push(await attempt('build', ensureBuilt))
  if (filters.length === 0) for (const stage of stages) results.push(await attempt(stage.name, () => runStage(stage)))
  const tests = await runTests(filters)
  return summarise([...results, ...tests.results], tests.flaky)
})

async function attempt(name, work) {
  const started = Date.now()
  try {
    await work()
    console.log(`${name}: passed in ${seconds(started)}`)
    return { file: '', name, outcome: 'passed', message: '' }
  } catch (error) {
    console.log(`${name}: FAILED in ${seconds(started)}`)
    if (error.message !== '') console.log(error.message)
    return { file: '', name, outcome: 'failed', message: '' }
  }
}

async function runStage(stage) {
  const { ended } = await run(stage.command(), { cwd: root, stuckMs })
  if (ended !== '') throw new Error(ended)
}

async function runTests(filters) {
  const files = testFiles().filter((file) => filters.length === 0 || filters.some((part) => file.includes(part)))
  if (files.length === 0) {
    const message = `no test file matches ${filters.join(' ') || 'at all'}`
    return { results: [{ file: '', name: 'tests', outcome: 'failed', message }], flaky: [] }
  }
  const started = Date.now()
  // Bun writes to the first file, even if it does not exist yet.
  const options = [`--timings=${timings.own}`, '--update-timings']
  if (!existsSync(join(root, timings.own))) options.push(`--timings=${timings.usual}`)
  const ran = await runTestFiles({ root, files, testMsMax, stuckMs, options })
  console.log(`tests: ${files.length} files in ${seconds(started)}`)
  return ran
}

function testFiles() {
  const files = []
  const walk = (folder) => {
    for (const entry of readdirSync(join(root, folder), { withFileTypes: true })) {
      const path = `${folder}/${entry.name}`
      if (entry.isDirectory() && entry.name !== 'node_modules') walk(path)
      else if (/\.test\.(ts|tsx|mjs)$/.test(entry.name)) files.push(path)
    }
  }
  for (const folder of ['scripts', 'test', 'packages', 'bench']) if (existsSync(join(root, folder))) walk(folder)
  return files.sort()
}

function summarise(results, flaky) {
  const count = (outcome) => results.filter((result) => result.outcome === outcome).length
  const failed = results.filter(({ outcome }) => outcome === 'failed')
  if (failed.length > 0) console.log('\nFailed:')
  const silent = failed.filter(({ message }) => message === reportedNothing)
  if (silent.length > silentMax) console.log(`  ${silent.length} files reported no test.`)
  for (const { file, name, message } of failed) {
    if (message === reportedNothing && silent.length > silentMax) continue
    console.log(`  ${file === '' ? '' : `${file}: `}${name}`)
    for (const line of message
      .split('\n')
      .filter((text) => text.trim() !== '')
      .slice(0, 6))
      console.log(`      ${line}`)
  }
  if (flaky.length > 0) console.log('\nFlaky (failed beside the others, passed alone):')
  for (const file of flaky) console.log(describeFlaky(file))
  const skipped = count('skipped')
  console.log(`\nin ${seconds(began)}`)
  if (Date.now() - began > goalMs) console.log(`The goal is ${goalMs / 60_000} minutes on two cores.`)
  if (flaky.length > 0) console.log(`${flaky.length} flaky`)
  console.log(`${count('passed')} passed, ${failed.length} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`)
  return failed.length > 0 ? 1 : 0
}

function seconds(since) {
  return `${((Date.now() - since) / 1000).toFixed(1)} s`
}
