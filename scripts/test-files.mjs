// Runs test files: all of them beside each other, then once more, alone, each one that failed.
import { spawn } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { StringDecoder } from 'node:string_decoder'
import { setTimeout as delay } from 'node:timers/promises'
import { findBun } from './bun.mjs'
import { readReport } from './junit.mjs'

/** A test that hangs on chance fails now and then, never in so many files at once: those are broken. */
const filesAgainMax = 10
/** How much of a file's output is kept, from its end. */
const outputMax = 40_000

/**
 * Answers one entry a test, and the files that are flaky: they failed beside the others and passed alone, and count as
 * passed. `options` are Bun's for the first run only.
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

/** What a person needs to know of a flaky file: which tests failed and why, and what it printed both times. */
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
  // A folder of their own for everything they leave lying about. Short, since unix sockets lie in it, and open to the other
  // users that some of them become.
  const temporary = mkdtempSync('/tmp/svct-')
  chmodSync(temporary, 0o755)
  const output = readOutput(files, show)
  const always = [`--timeout=${testMsMax}`, '--reporter=junit', `--reporter-outfile=${report}`]
  const command = [findBun(), 'test', '--parallel', ...always, ...options, ...files.map((file) => `./${file}`)]
  const { ended, wasStopped } = await run(command, {
    cwd: root,
    stuckMs,
    environment: { TMPDIR: temporary },
    hear: output.add,
  })
  if (wasStopped) show(`The tests were ended: ${ended}.\n`)
  await removeLeftovers(temporary)
  const results = existsSync(report) ? readReport(readFileSync(report, 'utf8')) : []
  // A file that does not even load is missing from the report.
  const seen = new Set(results.map(({ file }) => file))
  for (const file of files) {
    if (!seen.has(file)) results.push({ file, name: '(whole file)', outcome: 'failed', message: 'reported no test' })
  }
  if (ended !== '' && !results.some(isFailed))
    results.push({ file: '', name: 'bun test', outcome: 'failed', message: ended })
  return { results, wasStopped, outputOf: output.of }
}

/** What Bun sums up in the end is of no file. Its list of skipped tests is not shown, as they are counted below. */
const filesEnd = /^( \d+ pass|\d+ tests? \w+:)$/
const skippedFollow = /^\d+ tests? skipped:$/
const testPasses = /^\((?:pass|skip|todo)\) /
const testEnds = /^\((?:pass|skip|todo|fail)\) /

/**
 * Shows what Bun prints but for the tests that passed, and keeps it by file. Bun prints a line with a file's name above
 * what the file prints, again whenever another file came in between. Now and then it leaves that line out, so a file's
 * output can end with some of another's.
 */
function readOutput(files, show) {
  const texts = new Map(files.map((file) => [file, '']))
  // Bun names no file where there is only one.
  let current = files.length === 1 ? files[0] : null
  let line = ''
  /** A file's name is shown once it has something to show. */
  let heading = ''
  const take = () => {
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
    /** Whether a test ended in it. */
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
  }
}

/** The shared test database ends a moment after the tests, and takes its folder with it. */
async function removeLeftovers(folder) {
  const deadline = Date.now() + 10_000
  while (readdirSync(folder).some((name) => name.startsWith('svc-test-pg-')) && Date.now() < deadline) await delay(20)
  // What is mounted there is not ours to empty.
  const mounts = existsSync('/proc/self/mountinfo') ? readFileSync('/proc/self/mountinfo', 'utf8') : ''
  if (mounts.includes(` ${folder}/`)) console.log(`Something is still mounted in ${folder}`)
  // Databases of tests that were ended still write to it.
  else rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
}

/** Something that outlives the program may keep its output open. */
const drainMsMax = 1_000

/**
 * Runs a program to its end, in a group of its own, so that nothing it started outlives it when it is stuck: `hear` gets
 * its output and answers whether it went on. Answers how it ended, empty when it ended well; `wasStopped` means that its
 * result says nothing.
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

/** What the shell of the developer or of npm carries must not change a test: no settings, tokens or switches of ours or Bun's. */
function testEnvironment() {
  return Object.fromEntries(
    Object.entries(process.env).filter(
      ([name]) => !/^(SVC_(?!TEST_)|BUN_|npm_|GIT_|PG|DATABASE_URL$|NODE_ENV$)/.test(name),
    ),
  )
}
