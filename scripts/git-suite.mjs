// `npm run test:git-suite` runs git's own smart HTTP tests, unmodified, against our git host instead of Apache. `-- --long`
// adds the expensive ones. docs/engineering/git-suite.md explains them and the ones that fail.
import { spawn, spawnSync } from 'node:child_process'
import { createWriteStream, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { findBun } from './bun.mjs'
import { findProgram, main, onStop, root } from './console.mjs'
import { fetchGitSource, unpackPty } from './git-source.mjs'
import { ensureInstalled } from './install.mjs'

const suites = [
  {
    name: 't5551-http-fetch-smart',
    explained: ['smart clone respects namespace', 'dumb clone via http-backend respects namespace'],
  },
  {
    name: 't5541-http-push-smart',
    explained: ['rejected update prints status', 'push with post-receive to inspect certificate'],
  },
]

await main(async () => {
  const args = process.argv.slice(2)
  const strange = args.find((word) => word !== '--long')
  if (strange !== undefined) throw new Error(`Unknown argument ${strange}. There is only --long.`)
  await ensureInstalled()
  const source = await fetchGitSource()
  const perlFolder = await unpackPty(source)
  console.log(`git ${gitVersion()}, tests of ${source.version}`)
  const totals = { passed: 0, failed: 0, skipped: 0, unexplained: 0 }
  for (const suite of suites) {
    const results = await runSuite(suite.name, source, { perlFolder, isLong: args.includes('--long') })
    show(suite, results, totals)
  }
  console.log(`\n${totals.passed} passed, ${totals.failed} failed, ${totals.skipped} skipped`)
  return totals.unexplained > 0 ? 1 : 0
})

/** git's tests print TAP, one line per test. */
async function runSuite(name, source, { perlFolder, isLong }) {
  const room = mkdtempSync(join(tmpdir(), 'svc-git-suite-'))
  mkdirSync(join(root, 'dist'), { recursive: true })
  const log = join(root, 'dist', `${name}.log`)
  const httpd = join(room, 'httpd')
  writeFileSync(httpd, `#!/bin/sh\nexec '${findBun()}' '${join(root, 'test/git-suite/httpd.ts')}' "$@"\n`, {
    mode: 0o755,
  })
  const env = {
    PATH: process.env.PATH,
    HOME: room,
    GIT_TEST_INSTALLED: dirname(findProgram('git')),
    GIT_TEST_HTTPD: 'true',
    LIB_HTTPD_PATH: httpd,
    // The tests require a folder of Apache modules and never read ours.
    LIB_HTTPD_MODULE_PATH: room,
    LIB_HTTPD_PORT: String(await freePort()),
    TEST_OUTPUT_DIRECTORY: room,
    ...(perlFolder === null ? {} : { PERL5LIB: perlFolder }),
    ...(isLong ? { GIT_TEST_LONG: 'true' } : {}),
  }
  try {
    await runToEnd([...asNobodyInParticular(), 'sh', `./${name}.sh`, '-v'], { cwd: join(source.dir, 't'), env, log })
  } finally {
    endServer(room, name)
    rmSync(room, { recursive: true, force: true })
  }
  return readTap(readFileSync(log, 'utf8'), log)
}

/** The tests refuse to run as root. In a user namespace root keeps its files under another user id. */
function asNobodyInParticular() {
  if (process.getuid() !== 0) return []
  const wrapped = ['unshare', '--user', '--map-user=1000', '--map-group=1000']
  if (spawnSync(wrapped[0], [...wrapped.slice(1), 'true']).status === 0) return wrapped
  throw new Error('The tests do not run as root, and user namespaces are off on this machine. Run it as another user.')
}

function runToEnd([program, ...args], { cwd, env, log }) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true })
    const output = createWriteStream(log)
    child.stdout.pipe(output, { end: false })
    child.stderr.pipe(output, { end: false })
    const forget = onStop(() => {
      process.kill(-child.pid, 'SIGTERM')
      process.exitCode = 130
    })
    child.once('error', reject)
    // The lines read below hold everything the exit code says.
    child.once('close', () => {
      forget()
      output.end(resolve)
    })
  })
}

/** Interrupted tests may leave their server running. */
function endServer(room, name) {
  const pidFile = join(room, `trash directory.${name}/httpd/httpd.pid`)
  if (existsSync(pidFile)) process.kill(Number(readFileSync(pidFile, 'utf8')), 'SIGTERM')
}

function readTap(text, log) {
  const results = []
  // A test that git itself skipped prints `ok 1 # skip its name (missing what it needs)`.
  for (const [, not, skip, name] of text.matchAll(/^(not )?ok \d+ (?:# (skip) )?(?:- )?(.*)$/gm)) {
    const outcome = skip !== undefined ? 'skipped' : not === undefined ? 'passed' : 'failed'
    results.push({ name, outcome })
  }
  const planned = /^1\.\.(\d+)/m.exec(text)?.[1]
  if (results.length === 0 || Number(planned) !== results.length)
    throw new Error(`The tests did not run to their end; ${log} says why.`)
  return results
}

function show({ name, explained }, results, totals) {
  const named = (outcome) => results.filter((result) => result.outcome === outcome).map((result) => result.name)
  const [passed, failed, skipped] = ['passed', 'failed', 'skipped'].map(named)
  console.log(`\n${name}: ${passed.length} of ${results.length} passed`)
  for (const one of failed) console.log(`  failed${explained.includes(one) ? ', as explained' : ''}: ${one}`)
  for (const one of skipped) console.log(`  skipped by itself: ${one}`)
  totals.passed += passed.length
  totals.failed += failed.length
  totals.skipped += skipped.length
  totals.unexplained += failed.filter((one) => !explained.includes(one)).length
}

function freePort() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address()
      server.close(() => resolve(port))
    })
  })
}

function gitVersion() {
  return spawnSync('git', ['version']).stdout.toString().trim().replace('git version ', '')
}
