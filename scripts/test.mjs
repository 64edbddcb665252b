// `npm test`: everything a change has to pass. `npm test -- packages/git` runs only the test files whose path contains that.
// The last line of the output is `N passed, N failed`, and `, N skipped` when there are any.
import { spawn } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { findBun } from './bun.mjs'
import { ensureBuilt } from './build.mjs'
import { main, root } from './console.mjs'
import { ensureInstalled } from './install.mjs'
import { readReport } from './junit.mjs'
import { ensureReverseProxies, ensureSshd, ensureTestMachine } from './machine.mjs'

/** What all of it may take on two cores; more is said, since a slow machine is no failure of what is tested. */
const budgetMs = 25 * 60_000
/** By then something is stuck, and is ended. */
const stuckMs = 60 * 60_000
const testMsMax = 120_000
/** How long each file takes, so that the longest begin first: as the last whole run here left it, else about what is usual. */
const timings = { own: 'dist/test-timings.json', usual: 'test/timings.json' }
const began = Date.now()
const bin = (name) => join(root, 'node_modules/.bin', name)

/** Each counts as one test. */
const stages = [
  { name: 'types', command: () => [bin('tsc'), '-p', '.'] },
  { name: 'lint', command: () => [bin('oxlint'), '--quiet'] },
  { name: 'format', command: () => [bin('oxfmt'), '--check'] },
  { name: 'generated api', command: () => [findBun(), 'packages/contract/generate-api.ts', '--check'] },
]

await main(async () => {
  const filters = process.argv.slice(2)
  const results = []
  results.push(await attempt('install', ensureInstalled))
  if (results[0].outcome === 'failed') return summarise(results)
  await ensureTestMachine()
  await ensureSshd()
  await ensureReverseProxies()
  results.push(await attempt('build', ensureBuilt))
  if (filters.length === 0)
    for (const stage of stages) results.push(await attempt(stage.name, () => run(stage.command())))
  results.push(...(await runTests(filters)))
  return summarise(results)
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

async function runTests(filters) {
  const files = testFiles().filter((file) => filters.length === 0 || filters.some((part) => file.includes(part)))
  if (files.length === 0) {
    return [
      { file: '', name: 'tests', outcome: 'failed', message: `no test file matches ${filters.join(' ') || 'at all'}` },
    ]
  }
  const report = join(root, 'dist/test-report.xml')
  mkdirSync(join(root, 'dist'), { recursive: true })
  rmSync(report, { force: true })
  const started = Date.now()
  // A folder of their own for everything they leave lying about. Short, since unix sockets lie in it, and open to the other
  // users that some of them become.
  const temporary = mkdtempSync('/tmp/svct-')
  chmodSync(temporary, 0o755)
  const options = [`--timeout=${testMsMax}`, '--only-failures', '--reporter=junit', `--reporter-outfile=${report}`]
  // The first is the one that is written, whether it is there or not.
  options.push(`--timings=${timings.own}`, '--update-timings')
  if (!existsSync(join(root, timings.own))) options.push(`--timings=${timings.usual}`)
  const ended = await run([findBun(), 'test', '--parallel', ...options, ...files.map((file) => `./${file}`)], {
    TMPDIR: temporary,
  }).then(
    () => '',
    (error) => error.message,
  )
  await removeLeftovers(temporary)
  const results = existsSync(report) ? readReport(readFileSync(report, 'utf8')) : []
  // A file that does not even load is missing from the report.
  const seen = new Set(results.map(({ file }) => file))
  for (const file of files) {
    if (!seen.has(file)) results.push({ file, name: '(whole file)', outcome: 'failed', message: 'reported no test' })
  }
  if (ended !== '' && !results.some(({ outcome }) => outcome === 'failed')) {
    results.push({ file: '', name: 'bun test', outcome: 'failed', message: ended })
  }
  console.log(`tests: ${files.length} files in ${seconds(started)}`)
  return results
}

/** The shared test database ends a moment after the tests, and takes its folder with it. */
async function removeLeftovers(folder) {
  const deadline = Date.now() + 10_000
  while (readdirSync(folder).some((name) => name.startsWith('svc-test-pg-')) && Date.now() < deadline) await delay(20)
  // What is mounted there is not ours to empty.
  const mounts = existsSync('/proc/self/mountinfo') ? readFileSync('/proc/self/mountinfo', 'utf8') : ''
  if (mounts.includes(` ${folder}/`)) console.log(`Something is still mounted in ${folder}`)
  else rmSync(folder, { recursive: true, force: true })
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

/** Output is shown as it comes. In a group of its own, so that nothing it started outlives what stuck tests are given. */
function run([program, ...args], environment = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      cwd: root,
      stdio: ['ignore', 'inherit', 'inherit'],
      detached: true,
      env: { ...testEnvironment(), ...environment },
    })
    const end = (signal) => {
      try {
        process.kill(-child.pid, signal)
      } catch (error) {
        if (error.code !== 'ESRCH') throw error
      }
    }
    const overdue = setTimeout(() => end('SIGKILL'), Math.max(0, began + stuckMs - Date.now()))
    const stop = () => {
      end('SIGKILL')
      process.exitCode = 130
    }
    for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, stop)
    child.once('error', reject)
    child.once('exit', (code, signal) => {
      clearTimeout(overdue)
      for (const name of ['SIGINT', 'SIGTERM']) process.removeListener(name, stop)
      if (code === 0) resolve()
      else if (Date.now() >= began + stuckMs)
        reject(new Error(`the ${stuckMs / 60_000} minutes after which all tests are ended are over`))
      else reject(new Error(`${program} ended with ${signal ?? `exit code ${code}`}`))
    })
  })
}

/** What the shell of the developer or of npm carries must not change a test: no settings, tokens or switches of ours or Bun's. */
function testEnvironment() {
  return Object.fromEntries(
    Object.entries(process.env).filter(
      ([name]) => !/^(SVC_(?!TEST_)|BUN_|npm_|GIT_|PG|DATABASE_URL$|NODE_ENV$)/.test(name),
    ),
  )
}

function summarise(results) {
  const count = (outcome) => results.filter((result) => result.outcome === outcome).length
  const failed = results.filter(({ outcome }) => outcome === 'failed')
  if (failed.length > 0) console.log('\nFailed:')
  for (const { file, name, message } of failed) {
    console.log(`  ${file === '' ? '' : `${file}: `}${name}`)
    for (const line of message
      .split('\n')
      .filter((text) => text.trim() !== '')
      .slice(0, 6))
      console.log(`      ${line}`)
  }
  const skipped = count('skipped')
  console.log(`\nin ${seconds(began)}`)
  if (Date.now() - began > budgetMs)
    console.log(`That is more than the ${budgetMs / 60_000} minutes that they may take.`)
  console.log(`${count('passed')} passed, ${failed.length} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`)
  return failed.length > 0 ? 1 : 0
}

function seconds(since) {
  return `${((Date.now() - since) / 1000).toFixed(1)} s`
}
