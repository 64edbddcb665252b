// Runs test files in parallel, then once more, alone, each file that failed.
import { spawn } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { StringDecoder } from 'node:string_decoder'
import { setTimeout as delay } from 'node:timers/promises'
import { findBun } from './bun.mjs'
import { readReport } from './junit.mjs'

/** Tests wait for half of their time, for processes, deadlines and each other. */
const filesAtOnce = Math.ceil(availableParallelism() * 1.5)
/** Chance fails a few files at most. When more than this fail, the cause is a bug, so don't repeat them. */
const filesAgainMax = 10
/** Why a file without a test in the report failed. */
export const reportedNothing = 'reported no test'
/** The most output kept per file, from its end. */
const outputMax = 40_000
/** So many tests show which files were running when a run was stopped. */
const lastTests = 20

/**
 * Returns one entry per test, and the flaky files: those that failed in parallel and passed alone, which count as passed.
 * `options` are Bun's, for the first run only.
 */
export async function runTestFiles({ root, files, testMsMax, stuckMs, options = [], show = showLive }) {
  const first = await runOnce({ root, files, testMsMax, stuckMs, options, show })
  const failed = files.filter((file) => first.results.some((result) => result.file === file && isFailed(result)))
  if (failed.length === 0 || first.wasStopped) return { results: first.results, flaky: [] }
  if (failed.length > filesAgainMax) {
    show(`${failed.length} files failed. That is no chance, so none of them runs again.\n`)
    return { results: first.results, flaky: [] }
  }
  const flaky = []
  let { results } = first
  for (const file of failed) {
    show(`\nOnce more, alone: ${file}\n`)
    const again = await runOnce({ root, files: [file], testMsMax, stuckMs, options: [], show })
    if (again.wasStopped) break
    if (!again.results.some(isFailed)) {
      const messages = results.filter((result) => result.file === file && isFailed(result))
      flaky.push({ file, messages, outputs: [first.outputOf(file), again.outputOf(file)] })
    }
    results = [...results.filter((result) => result.file !== file), ...again.results]
  }
  return { results, flaky }
}

/** Describes a flaky file: which tests failed and why, and both outputs. */
export function describeFlaky({ file, messages, outputs: [first, second] }) {
  const lines = [`  ${file}`]
  for (const { name, message } of messages)
    lines.push(`    failed: ${name}`, ...indent(message.split('\n').slice(0, 6).join('\n')))
  lines.push('    output of the run that failed:', ...indent(first))
  lines.push('    output of the run that passed:', ...indent(second))
  return lines.join('\n')
}

function indent(text) {
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  return (lines.length > 0 ? lines : ['(none)']).map((line) => `      ${line}`)
}

const isFailed = ({ outcome }) => outcome === 'failed'
const showLive = (text) => process.stdout.write(text)

async function runOnce({ root, files, testMsMax, stuckMs, options, show }) {
  const report = join(root, 'dist/test-report.xml')
  mkdirSync(join(root, 'dist'), { recursive: true })
  rmSync(report, { force: true })
  // A temporary folder for everything the tests leave behind. The path is short, since unix sockets are created in it, and
  // accessible to the other users that some tests run as.
  const temporary = mkdtempSync('/tmp/svct-')
  chmodSync(temporary, 0o755)
  const output = readOutput(files, show)
  const always = [`--timeout=${testMsMax}`, '--reporter=junit', `--reporter-outfile=${report}`]
  const command = [
    findBun(),
    'test',
    `--parallel=${filesAtOnce}`,
    ...always,
    ...options,
    ...files.map((file) => `./${file}`),
  ]
  const { ended, wasStopped } = await run(command, {
    cwd: root,
    stuckMs,
    environment: { TMPDIR: temporary },
    hear: output.add,
  })
  const tests = output.tests()
  if (wasStopped) {
    const last = new Set(tests.slice(-lastTests).map(({ file }) => file))
    show(`The tests were ended: ${ended}. The last tests that ended are in ${[...last].join(', ') || 'no file'}.\n`)
  }
  await removeLeftovers(temporary)
  // Bun writes its report at the end, so a run that was stopped has none.
  const results = existsSync(report) ? readReport(readFileSync(report, 'utf8')) : tests
  // Neither names a file that does not load.
  const seen = new Set(results.map(({ file }) => file))
  for (const file of files) {
    if (!seen.has(file)) results.push({ file, name: '(whole file)', outcome: 'failed', message: reportedNothing })
  }
  if (ended !== '' && !results.some(isFailed))
    results.push({ file: '', name: 'bun test', outcome: 'failed', message: ended })
  return { results, wasStopped, outputOf: output.of }
}

/** Bun's final summary belongs to no file. Its list of skipped tests is dropped, since the counts below include them. */
const filesEnd = /^( \d+ pass|\d+ tests? \w+:)$/
const skippedFollow = /^\d+ tests? skipped:$/
const testPasses = /^\((?:pass|skip|todo)\) /
const testEnds = /^\((pass|skip|todo|fail)\) (.*?)(?: \[[\d.]+m?s\])?$/
const outcomes = { pass: 'passed', skip: 'skipped', todo: 'skipped', fail: 'failed' }

/**
 * Prints Bun's output without the tests that passed, and keeps it by file. Bun prints a file's name above its output, again
 * after another file's output. Sometimes it omits that line, so a file's output can end with lines of another.
 */
function readOutput(files, show) {
  const texts = new Map(files.map((file) => [file, '']))
  // Bun names no file when it runs only one.
  let current = files.length === 1 ? files[0] : null
  let line = ''
  /** Prints a file's name before its first output. */
  let heading = ''
  const tests = []
  const take = () => {
    const [, how, name] = testEnds.exec(line) ?? []
    if (how !== undefined) tests.push({ file: current ?? '', name, outcome: outcomes[how], message: '' })
    const named = line.endsWith(':') ? line.slice(0, -1) : null
    if (filesEnd.test(line)) [current, heading] = [null, '\n']
    if (texts.has(named)) {
      current = named
      heading = `\n${line}\n`
    } else if (line !== '' && !testPasses.test(line) && !skippedFollow.test(line)) {
      show(`${heading}${line}\n`)
      heading = ''
      if (current !== null) texts.set(current, `${texts.get(current)}${line}\n`.slice(-outputMax))
    }
  }
  return {
    /** Whether a test ended in this output. */
    add(text) {
      let hasEnd = false
      const [first, ...others] = text.split('\n')
      line += first
      for (const next of others) {
        hasEnd ||= testEnds.test(line)
        take()
        line = next
      }
      return hasEnd
    },
    of: (file) => texts.get(file) ?? '',
    /** Those that ended so far, in that order. */
    tests: () => tests,
  }
}

/** The shared test database stops shortly after the tests and removes its folder. */
async function removeLeftovers(folder) {
  const deadline = Date.now() + 10_000
  while (readdirSync(folder).some((name) => name.startsWith('svc-test-pg-')) && Date.now() < deadline) await delay(20)
  // Leaves mounted folders alone; their contents are not ours.
  const mounts = existsSync('/proc/self/mountinfo') ? readFileSync('/proc/self/mountinfo', 'utf8') : ''
  if (mounts.includes(` ${folder}/`)) console.log(`Something is still mounted in ${folder}`)
  // Databases of interrupted tests still write here.
  else rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
}

/** A process that outlives the program may keep its output open. */
const drainMsMax = 1_000

/**
 * Runs a program to its end in its own process group, so that nothing survives when it hangs. `hear` receives its output and
 * returns whether it made progress. Returns how the program ended, or an empty string after success; `wasStopped` means that
 * its result is worthless.
 */
export function run([program, ...args], { cwd, stuckMs, environment = {}, hear }) {
  return new Promise((resolve, reject) => {
    const stdio = hear === undefined ? 'inherit' : 'pipe'
    const child = spawn(program, args, {
      cwd,
      stdio: ['ignore', stdio, stdio],
      detached: true,
      env: { ...testEnvironment(), ...environment },
    })
    let stopped = ''
    const end = (why) => {
      stopped = why
      try {
        process.kill(-child.pid, 'SIGKILL')
      } catch (error) {
        if (error.code !== 'ESRCH') throw error
      }
    }
    const stuck = setTimeout(() => end(`it was stuck for ${stuckMs / 60_000} minutes`), stuckMs)
    for (const stream of [child.stdout, child.stderr]) {
      const decoder = new StringDecoder('utf8')
      stream?.on('data', (chunk) => hear(decoder.write(chunk)) && stuck.refresh())
    }
    const closed = new Promise((done) => child.once('close', done))
    const stop = () => {
      end('stopped')
      process.exitCode = 130
    }
    for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, stop)
    child.once('error', reject)
    child.once('exit', async (code, signal) => {
      clearTimeout(stuck)
      for (const name of ['SIGINT', 'SIGTERM']) process.removeListener(name, stop)
      await Promise.race([closed, delay(drainMsMax)])
      for (const stream of [child.stdout, child.stderr]) stream?.destroy()
      const how = code === 0 ? '' : `${program} ended with ${signal ?? `exit code ${code}`}`
      resolve({ ended: stopped === '' ? how : stopped, wasStopped: stopped !== '' })
    })
  })
}

/** Settings, tokens and switches in the developer's or npm's environment must not change a test. */
function testEnvironment() {
  return Object.fromEntries(
    Object.entries(process.env).filter(
      ([name]) => !/^(SVC_(?!TEST_)|BUN_|npm_|GIT_|PG|DATABASE_URL$|NODE_ENV$)/.test(name),
    ),
  )
}
