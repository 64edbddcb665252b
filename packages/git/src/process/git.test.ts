import { afterAll, describe, expect, test } from 'bun:test'
import { chmod } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { childEnvironment } from './environment.ts'
import { git, GitError, startGit } from './git.ts'
import { streamChild } from './child-stream.ts'
import { commit, makeRepo, tempDir } from '../testing.ts'

const temp = await tempDir()
afterAll(() => temp.remove())

/** Puts a program of ours in git's place, so that what git is given can be looked at. */
async function asAlias(script: string): Promise<{ config: [string, string][] }> {
  const path = join(temp.path, `alias-${Bun.hash(script)}`)
  await Bun.write(path, `#!/bin/sh\n${script}\n`)
  await chmod(path, 0o755)
  return { config: [['alias.run', `!${path}`]] }
}

const failureOf = (promise: Promise<unknown>) =>
  promise.then(
    () => null,
    (error: unknown) => error as GitError,
  )

async function untilExists(path: string): Promise<void> {
  const deadline = performance.now() + 60_000
  while (!(await Bun.file(path).exists())) {
    if (performance.now() > deadline) throw new Error(`${path} has not been written`)
    await Bun.sleep(10)
  }
}

describe('the environment of git', () => {
  test('passes no variable of this process to a child', async () => {
    process.env.BUN_OPTIONS = '--preload=/nowhere'
    process.env.GIT_DIR = '/nowhere'
    process.env.GIT_SSH_COMMAND = 'false'
    process.env.SECRET_OF_THE_SERVER = 'hunter2'
    process.env.OTEL_EXPORTER_OTLP_HEADERS = 'authorization=hunter2'
    process.env.LD_PRELOAD_NOT = 'x'
    try {
      const { stdout } = await git(null, ['run'], await asAlias('env'))
      const names = stdout
        .toString()
        .split('\n')
        .map((line) => line.split('=')[0] ?? '')
      expect(stdout.toString()).not.toContain('hunter2')
      expect(
        names.filter((name) => name.startsWith('BUN_') || name === 'GIT_SSH_COMMAND' || name === 'LD_PRELOAD_NOT'),
      ).toEqual([])
      expect(stdout.toString()).toContain('GIT_ALLOW_PROTOCOL=none')
      expect(stdout.toString()).toContain('HOME=/nonexistent')
    } finally {
      const set = ['BUN_OPTIONS', 'GIT_DIR', 'GIT_SSH_COMMAND', 'SECRET_OF_THE_SERVER', 'LD_PRELOAD_NOT']
      for (const name of [...set, 'OTEL_EXPORTER_OTLP_HEADERS']) delete process.env[name]
    }
  })

  test('allows no transport that the remote does not need', async () => {
    const repo = await makeRepo({ main: { a: '1\n' } })
    const refused = await failureOf(git(null, ['ls-remote', '--', `file://${repo.dir}`]))
    expect(refused?.stderr).toContain("transport 'file' not allowed")
    const remote = { url: `file://${repo.dir}`, credential: null, allowProtocols: ['https'] }
    expect((await failureOf(git(null, ['ls-remote', '--', remote.url], { remote })))?.stderr).toContain('not allowed')
    for (const url of ['ext::sh -c "touch /tmp/svc-pwned"', 'fd::0']) {
      const all = { url, credential: null, allowProtocols: ['file', 'https', 'http', 'ssh'] }
      expect((await failureOf(git(null, ['ls-remote', '--', url], { remote: all })))?.stderr).toContain('not allowed')
    }
    await repo.remove()
  })

  test('runs no hooks or helpers of a repository', async () => {
    const repo = await makeRepo({ main: { a: '1\n' } })
    const trap = join(temp.path, 'sprung')
    const script = `#!/bin/sh\ntouch ${trap}\n`
    for (const hook of ['reference-transaction', 'pre-receive', 'post-update', 'pre-push', 'post-rewrite']) {
      await Bun.write(join(repo.dir, 'hooks', hook), script)
      await chmod(join(repo.dir, 'hooks', hook), 0o755)
    }
    await Bun.write(join(repo.dir, 'fsmonitor'), script)
    await chmod(join(repo.dir, 'fsmonitor'), 0o755)
    for (const [key, value] of [
      ['core.fsmonitor', join(repo.dir, 'fsmonitor')],
      ['diff.external', join(repo.dir, 'fsmonitor')],
    ]) {
      await git(repo.dir, ['config', key as string, value as string])
    }
    const sha = await commit(repo, 'main', { a: '2\n' })
    await git(repo.dir, ['update-ref', 'refs/heads/x', sha])
    await git(repo.dir, ['diff-tree', '-p', '--no-ext-diff', sha])
    expect(await Bun.file(trap).exists()).toBe(false)
    await repo.remove()
  })

  test('limits a credential to its origin and never passes it as an argument', () => {
    const remote = {
      url: 'https://git.example.com:8443/a/b.git',
      credential: { username: 'u', password: 's3cret' },
      pin: ['1.2.3.4', '2001::1'],
      allowProtocols: ['https'],
    }
    const environment = childEnvironment({ remote })
    const config = Object.entries(environment).filter(([key]) => key.startsWith('GIT_CONFIG_KEY_'))
    const valueOf = (wanted: string) =>
      environment[(config.find(([, key]) => key === wanted)?.[0] ?? '').replace('KEY', 'VALUE')]
    expect(valueOf('http.https://git.example.com:8443/.extraHeader')).toBe(`Authorization: Basic ${btoa('u:s3cret')}`)
    expect(valueOf('http.curloptResolve')).toBe('git.example.com:8443:1.2.3.4,[2001::1]')
    expect(valueOf('http.followRedirects')).toBe('false')
    const ssh = childEnvironment({
      remote: { url: 'ssh://git@git.example.com/a', credential: null, pin: ['1.2.3.4'], allowProtocols: ['ssh'] },
    })
    expect(ssh.GIT_SSH_COMMAND).toContain('-oHostName=1.2.3.4 -oHostKeyAlias=git.example.com')
  })
})

describe('limits of git processes', () => {
  test('a timeout ends the whole process group, including helpers', async () => {
    const pidFile = join(temp.path, 'helper.pid')
    const alias = await asAlias(`sh -c 'trap "" TERM; echo $$ > ${pidFile}; while :; do sleep 1; done' & wait`)
    // On a busy machine the helper may not have begun by then: it gets more time.
    for (let timeoutMs = 400; !(await Bun.file(pidFile).exists()); timeoutMs *= 3) {
      const failed = await failureOf(git(null, ['run'], { ...alias, timeoutMs }))
      expect(failed).toMatchObject({ failure: 'timeout' })
    }
    const pid = Number(await Bun.file(pidFile).text())
    const deadline = Date.now() + 30_000
    const alive = () => Bun.spawnSync(['kill', '-0', String(pid)]).exitCode === 0
    while (alive() && Date.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 10))
    expect(alive()).toBe(false)
  })

  test('a pause of the server does not count: git that finished in it is no timeout', async () => {
    const started = join(temp.path, 'paused-has-started')
    const finished = join(temp.path, 'paused-has-finished')
    const { config } = await asAlias(`touch ${started}; sleep 1; touch ${finished}`)
    const caller = Bun.spawn(
      [
        process.execPath,
        '-e',
        `const { git } = await import('${join(import.meta.dir, 'git.ts')}')
        const { code } = await git(null, ['run'], { config: ${JSON.stringify(config)}, timeoutMs: 5_000 })
        console.log('ended with', code)`,
      ],
      { stdout: 'pipe', stderr: 'pipe' },
    )
    await untilExists(started)
    process.kill(caller.pid, 'SIGSTOP')
    const stoppedAt = performance.now()
    await untilExists(finished)
    // Until its timer would be late.
    while (performance.now() - stoppedAt < 8_000) await Bun.sleep(50)
    process.kill(caller.pid, 'SIGCONT')
    const printed = await Promise.all([caller.exited, text(caller.stdout), text(caller.stderr)])
    expect(printed).toEqual([0, 'ended with 0\n', ''])
  })

  test('an abort ends a running or waiting process', async () => {
    const alias = await asAlias('exec sleep 60')
    const giveUp = new AbortController()
    const running = failureOf(git(null, ['run'], { ...alias, signal: giveUp.signal }))
    giveUp.abort()
    expect(await running).toMatchObject({ failure: 'aborted' })
    expect(await failureOf(git(null, ['version'], { signal: giveUp.signal }))).toMatchObject({ failure: 'aborted' })
  })

  test('output over its limit is an error, or is truncated on request', async () => {
    const alias = await asAlias('yes')
    expect(await failureOf(git(null, ['run'], { ...alias, bytesMax: 1000 }))).toMatchObject({ failure: 'output' })
    const cut = await git(null, ['run'], { ...alias, bytesMax: 1000, overflow: 'cut' })
    expect([cut.stdout.length, cut.cut]).toEqual([1000, true])
  })

  test.skipIf(!Bun.which('prlimit'))('limits processor time, memory and file size', async () => {
    expect(
      await failureOf(git(null, ['run'], { ...(await asAlias('while :; do :; done')), limits: { cpuSeconds: 1 } })),
    ).toBeInstanceOf(GitError)
    const greedy = await asAlias('exec head -c 100000000 /dev/zero | tail | wc -c')
    const { stderr } = (await failureOf(
      git(null, ['run'], { ...greedy, limits: { memoryBytes: 20_000_000 }, accept: [] }),
    )) as GitError
    expect(stderr).toMatch(/memory/i)
    const repo = await makeRepo({ main: { a: '1\n' } })
    const noise = crypto.getRandomValues(new Uint8Array(60_000))
    const tooLarge = await failureOf(
      git(repo.dir, ['hash-object', '-w', '--stdin'], { input: noise, limits: { fileBytes: 10_000 } }),
    )
    expect(tooLarge).toBeInstanceOf(GitError)
    await repo.remove()
  })

  test('blames no limit when another process kills git', async () => {
    for (const signal of ['KILL', 'TERM'])
      expect(await failureOf(git(null, ['run'], await asAlias(`kill -${signal} $PPID`)))).toMatchObject({
        failure: 'killed',
      })
  })

  test.skipIf(!Bun.which('prlimit'))('applies the limits from the start, also to helpers', async () => {
    const alias = await asAlias('ulimit -t; ulimit -f; ulimit -c')
    const seen = await Promise.all(
      Array.from({ length: 20 }, () =>
        git(null, ['run'], { ...alias, limits: { cpuSeconds: 7, fileBytes: 512 * 2048 } }),
      ),
    )
    for (const { stdout } of seen) expect(stdout.toString()).toBe('7\n2048\n0\n')
  })

  test('a failed start frees its place in the queue', async () => {
    for (let i = 0; i < 10; i++)
      expect(await failureOf(git(null, ['version'], { cwd: '/nowhere' }))).toMatchObject({ failure: 'start' })
    expect((await git(null, ['version'])).code).toBe(0)
  })
})

describe('results of git processes', () => {
  test('accepts only the named exit codes, and an error says what happened', async () => {
    const repo = await makeRepo({ main: { a: '1\n' } })
    expect((await git(repo.dir, ['symbolic-ref', '--quiet', 'refs/heads/main'], { accept: [0, 1] })).code).toBe(1)
    const failed = await failureOf(git(repo.dir, ['cat-file', '-t', 'f'.repeat(40)]))
    expect(failed).toMatchObject({ failure: 'exit', code: 128 })
    expect(failed?.message).toMatch(/^git cat-file failed \(exit code 128\): fatal: /)
    await repo.remove()
  })

  test('a child that never reads its input neither blocks nor crashes the caller', async () => {
    const result = await git(null, ['run'], { ...(await asAlias('exit 0')), input: new Uint8Array(5_000_000) })
    expect(result.code).toBe(0)
  })

  test('a stream can be aborted', async () => {
    const child = await startGit(null, ['run'], await asAlias('yes'))
    child.stdin.end()
    for await (const _chunk of child.stdout) break
    child.kill('aborted')
    expect(await child.ended).toMatchObject({ killedFor: 'aborted' })
  })
})

test.each([10, 30_000, 100_000, 300_000])(
  'reads %d bytes of output completely, however late and slowly',
  async (size) => {
    const repo = await makeRepo({ main: { a: 'x'.repeat(size) } })
    for (const isLate of [false, true]) {
      const child = await startGit(repo.dir, ['cat-file', 'blob', 'main:a'], { lane: 'serve' })
      child.stdin.end()
      const reader = streamChild(child, { args: ['cat-file'] }).getReader()
      // Others' processes come and go meanwhile; of a small one this one has ended long since.
      const pause = async () => void (await git(null, ['--version']))
      for (let n = 0; isLate && n < 20; n++) await pause()
      let bytes = 0
      for (let part = await reader.read(); !part.done; part = await reader.read()) {
        bytes += part.value.length
        for (let n = 0; n < 5; n++) await pause()
      }
      expect(bytes).toBe(size)
    }
    await repo.remove()
  },
)

test('a stream does not end a process that is silent while its reader waits', async () => {
  const repo = await makeRepo({ main: { a: 'x' } })
  const child = await startGit(repo.dir, ['cat-file', '--batch'], { lane: 'serve' })
  const reader = streamChild(child, { args: ['cat-file'], stallMs: 20 }).getReader()
  const first = reader.read()
  const began = performance.now()
  while (performance.now() - began < 100) await git(null, ['--version'])
  child.stdin.end('main:a\n')
  expect(Buffer.from((await first).value!).toString()).toContain('blob 1')
  await reader.cancel()
  await repo.remove()
})
