/** The driver when its server dies, and when it runs without root. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { chmod, chown, cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

import { escapeProbes, exhaustionProbes, probeScript } from '../conformance/escape-probes.ts'
import { runIn } from '../conformance/testing-sandboxes.ts'
import type { SandboxExit } from '../driver.ts'
import { createLocalDriver } from './driver.ts'
import { recordIn } from './record.ts'

// Generous: the machines that run this are busy with everything else.
setDefaultTimeout(180_000)

const allProbes = [...escapeProbes, ...exhaustionProbes]

const server = resolve(import.meta.dir, 'stub-server.ts')
const isRoot = process.getuid?.() === 0
let folder: string
let program: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-life-'))
  // Read by another user below.
  await chmod(folder, 0o755)
  program = join(folder, 'svc')
  const stub = resolve(import.meta.dir, 'stub-daemon.ts')
  expect(await Bun.spawn([process.execPath, 'build', '--compile', stub, '--outfile', program]).exited).toBe(0)
})
afterAll(() => rm(folder, { recursive: true, force: true }))

async function until(what: string, look: () => boolean, ms = 30_000): Promise<number> {
  const from = performance.now()
  while (!look()) {
    if (performance.now() - from > ms) throw new Error(`Waited ${ms} ms in vain: ${what}`)
    await Bun.sleep(1)
  }
  return performance.now() - from
}

/** Control groups of a driver's sandboxes, and the processes in them. */
function groupsOf(stateDir: string): { folders: string[]; pids: number[] } {
  const name = `svc-${Bun.hash(stateDir).toString(16).padStart(16, '0')}`
  const roots = readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .filter((line) => / - cgroup2? /.test(line))
    .map((line) => line.split(' ')[4]!)
  const found = new Bun.Glob(`**/${name}/*`)
  const scan = (root: string): string[] => {
    try {
      return [...found.scanSync({ cwd: root, onlyFiles: false, dot: true })]
    } catch (error) {
      // A group of another test ended during the scan, which then starts anew.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
      return scan(root)
    }
  }
  const folders = roots.flatMap((root) =>
    scan(root)
      .map((path) => join(root, path))
      .filter((path) => existsSync(join(path, 'cgroup.procs'))),
  )
  const pids = folders.flatMap((path) => processesIn(path))
  return { folders, pids: [...new Set(pids)] }
}

/** None once the group is gone. */
function processesIn(group: string): number[] {
  try {
    return readFileSync(join(group, 'cgroup.procs'), 'utf8').split('\n').filter(Boolean).map(Number)
  } catch (error) {
    if (!['ENOENT', 'ENODEV'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error
    return []
  }
}

async function* lines(stream: ReadableStream<Uint8Array>): AsyncGenerator<Record<string, unknown>> {
  let text = ''
  for await (const chunk of stream) {
    text += new TextDecoder().decode(chunk)
    for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n')) {
      yield JSON.parse(text.slice(0, end)) as Record<string, unknown>
      text = text.slice(end + 1)
    }
  }
}

describe.if(isRoot)('a server killed with kill -9', () => {
  test('takes every process of its sandboxes along, daemonised ones too; a sweep takes the rest', async () => {
    const stateDir = join(folder, 'killed')
    await mkdir(stateDir)
    // Reconnecting from its session, its parent and its standard files: what a daemon does to survive.
    const daemonised =
      'setsid nohup sleep 3600 >/dev/null 2>&1 </dev/null & disown; (setsid sleep 3600 >/dev/null 2>&1 &) ; exit 0'
    const child = Bun.spawn([process.execPath, server, stateDir, program, daemonised], {
      stdout: 'pipe',
      stderr: 'inherit',
    })
    for await (const line of lines(child.stdout)) if ('ready' in line) break
    // bubblewrap, PID 1 and the two sleepers at least.
    expect(groupsOf(stateDir).pids.length).toBeGreaterThanOrEqual(4)

    child.kill('SIGKILL')
    const ms = await until('the processes to be gone', () => groupsOf(stateDir).pids.length === 0)
    console.log(`gone after ${ms.toFixed(1)} ms`)
    expect(readdirSync(join(stateDir, 'run'))).toContain('one')

    const next = createLocalDriver({ stateDir, svcBinary: program, runtimeBinary: program, log: () => {} })
    await next.sweep()
    expect(readdirSync(join(stateDir, 'run'))).toEqual([])
    expect(groupsOf(stateDir).folders).toEqual([])
    expect(await next.list()).toEqual([])
    await next.sweep()
  })

  test.each([0, 1])('at any moment of a create leaves no process that lives on (lease %i s)', async (lease) => {
    const stateDir = join(folder, `cut-${lease}`)
    const next = createLocalDriver({ stateDir, svcBinary: program, runtimeBinary: program, log: () => {} })
    for (let round = 0; round < 24; round++) {
      await rm(join(stateDir, 'relay'), { recursive: true, force: true })
      await mkdir(stateDir, { recursive: true })
      const args = [server, stateDir, program, '', 'stay', String(lease)]
      const child = Bun.spawn([process.execPath, ...args], { stdout: 'pipe', stderr: 'ignore' })
      // The probe's answer comes right before the create starts.
      for await (const line of lines(child.stdout)) if ('probe' in line) break
      await Bun.sleep(round * 3)
      child.kill('SIGKILL')
      await child.exited
      await until(`round ${round}: the processes to be gone`, () => groupsOf(stateDir).pids.length === 0)
      await next.sweep()
      expect(groupsOf(stateDir).folders).toEqual([])
    }
  })
})

describe.if(isRoot)('a server killed with kill -9, whose sandboxes have a lease', () => {
  async function killedServer(name: string, leaseSeconds: number) {
    const stateDir = join(folder, name)
    await mkdir(stateDir)
    const command = 'echo kept > /workspace/kept; setsid sleep 3600 >/dev/null 2>&1 </dev/null & exit 0'
    const args = [server, stateDir, program, command, 'stay', String(leaseSeconds)]
    const child = Bun.spawn([process.execPath, ...args], { stdout: 'pipe', stderr: 'inherit' })
    for await (const line of lines(child.stdout)) if ('ready' in line) break
    child.kill('SIGKILL')
    await child.exited
    const makeNext = () =>
      createLocalDriver({ stateDir, svcBinary: program, runtimeBinary: program, log: () => {}, leaseSeconds })
    return { stateDir, makeNext }
  }

  test('leaves them running for the next server, which adopts, limits and ends them like its own', async () => {
    const { stateDir, makeNext } = await killedServer('adopted', 600)
    const driver = makeNext()
    const [sandbox] = await driver.adopt()
    await driver.sweep()
    expect(await driver.find('one')).toEqual(sandbox!)
    expect((await runIn(sandbox!, ['cat', '/workspace/kept'])).stdout).toBe('kept\n')
    // Another sandbox beside it gets uids of its own.
    const limits = { memoryBytesMax: 256 * 1024 ** 2, cpuMax: 2, processesMax: 128, diskBytesMax: 64 * 1024 ** 2 }
    const relaySocket = join(stateDir, 'relay', 'relay.sock')
    const other = await driver.create({ sandboxId: 'two', env: {}, limits, relaySocket }, new AbortController().signal)
    const uids = await Promise.all([sandbox!, other].map((one) => runIn(one, ['cat', '/proc/self/uid_map'])))
    expect(uids[0]!.stdout).not.toBe(uids[1]!.stdout)
    const before = groupsOf(stateDir).pids.length
    await driver.stop('one')
    expect(groupsOf(stateDir).pids.length).toBeLessThan(before)
    expect(readdirSync(join(stateDir, 'run')).filter((name) => name.startsWith('one'))).toEqual([])
    await driver.stop('two')
    expect(groupsOf(stateDir)).toEqual({ folders: [], pids: [] })
  })

  test('leaves none to a server on a copy of the folder, which removes its record and ends nothing', async () => {
    const { stateDir, makeNext } = await killedServer('original', 600)
    const runRoot = join(stateDir, 'run')
    const copyDir = join(folder, 'original-copy')
    await cp(stateDir, copyDir, { recursive: true, filter: (path) => !path.endsWith('.sock') })
    const options = { svcBinary: program, runtimeBinary: program, log: () => {}, leaseSeconds: 600 }
    const ofCopy = createLocalDriver({ ...options, stateDir: copyDir })
    expect(await ofCopy.adopt()).toEqual([])
    await ofCopy.stop('one')
    await ofCopy.sweep()
    expect(readdirSync(join(copyDir, 'run'))).toEqual([])
    // An earlier version wrote no folder. Its sandbox is adopted, and its record is bound by that.
    const { folder: bound, ...earlier } = JSON.parse(await readFile(recordIn(runRoot, 'one'), 'utf8'))
    await writeFile(recordIn(runRoot, 'one'), JSON.stringify(earlier))
    const driver = makeNext()
    const [sandbox] = await driver.adopt()
    expect((await runIn(sandbox!, ['cat', '/workspace/kept'])).stdout).toBe('kept\n')
    expect(JSON.parse(await readFile(recordIn(runRoot, 'one'), 'utf8'))).toEqual({ ...earlier, folder: bound })
    await driver.stop('one')
    expect(groupsOf(stateDir).pids).toEqual([])
  })

  test('hears of an adopted sandbox that ends by itself', async () => {
    const { stateDir, makeNext } = await killedServer('ends', 600)
    const driver = makeNext()
    const [sandbox] = await driver.adopt()
    const ended = new Promise<SandboxExit>((resolve) => driver.onExit(resolve))
    await fetch('http://daemon/exit?code=7', { unix: sandbox!.daemonSocket })
    expect((await ended).reason).toContain('with an unknown exit code. Its last lines: the stub was told to end')
    expect(await driver.find('one')).toBeNull()
    await until('the processes to be gone', () => groupsOf(stateDir).pids.length === 0)
  })

  test('leaves nothing once the lease is over', async () => {
    const { stateDir, makeNext } = await killedServer('over', 1)
    await until('the processes to be gone', () => groupsOf(stateDir).pids.length === 0)
    const driver = makeNext()
    expect(await driver.adopt()).toEqual([])
    await driver.sweep()
    expect(readdirSync(join(stateDir, 'run'))).toEqual([])
    expect(groupsOf(stateDir).folders).toEqual([])
  })

  test('has a next one renew the lease for as long as it runs', async () => {
    const { stateDir, makeNext } = await killedServer('renewed', 2)
    const driver = makeNext()
    const [sandbox] = await driver.adopt()
    // Counted by the sandbox's own clock, so that a slow machine only makes this longer.
    await runIn(sandbox!, ['sleep', '5'])
    expect((await runIn(sandbox!, ['cat', '/workspace/kept'])).stdout).toBe('kept\n')
    await driver.stop('one')
    expect(groupsOf(stateDir).pids).toEqual([])
  })
})

describe.if(isRoot)('without root', () => {
  // A user that exists everywhere and owns nothing.
  const uid = 65_534
  const gid = 65_534

  /** As that user, on a machine whose subordinate ranges are these: the files are covered for this child alone. */
  async function spawnAsUser(name: string, ranges: string, command: string[], env: Record<string, string> = {}) {
    const stateDir = join(folder, name)
    await mkdir(stateDir, { mode: 0o700 })
    await chown(stateDir, uid, gid)
    const file = join(folder, `${name}-ranges`)
    await writeFile(file, ranges, { mode: 0o644 })
    const script = 'mount --bind "$1" /etc/subuid && mount --bind "$1" /etc/subgid && shift && exec "$@"'
    return Bun.spawn(
      [
        ...['unshare', '--mount', '--propagation', 'private', 'sh', '-c', script, 'sh', file],
        ...['setpriv', `--reuid=${uid}`, `--regid=${gid}`, '--clear-groups', process.execPath, ...command],
      ],
      {
        stdout: 'pipe',
        stderr: 'pipe',
        env: { PATH: '/usr/bin:/bin:/usr/sbin:/sbin', HOME: stateDir, USER: 'nobody', TMPDIR: stateDir, ...env },
      },
    )
  }

  async function asUser(name: string, ranges: string, command: string): Promise<Record<string, unknown>[]> {
    const stateDir = join(folder, name)
    const child = await spawnAsUser(name, ranges, [server, stateDir, program, command, 'end'])
    const said: Record<string, unknown>[] = []
    for await (const line of lines(child.stdout)) said.push(line)
    expect({ code: await child.exited, said: await new Response(child.stderr).text() }).toEqual({ code: 0, said: '' })
    expect(readdirSync(join(stateDir, 'run'))).toEqual([])
    return said
  }

  test.each([
    ['with', `nobody:300000:65536\n${uid}:300000:65536\n`],
    ['without', ''],
  ])('and %s subordinate ids the driver conforms', async (word, ranges) => {
    const name = `conform-${word}`
    const suite = resolve(import.meta.dir, 'stub-conformance.ts')
    const env = { SVC_TEST_STATE: join(folder, name), SVC_TEST_PROGRAM: program }
    const child = await spawnAsUser(name, ranges, ['test', '--timeout=120000', suite], env)
    const [said, code] = [await new Response(child.stderr).text(), await child.exited]
    expect({ code, failed: said.split('\n').filter((line) => line.startsWith('(fail)')) }).toEqual({
      code: 0,
      failed: [],
    })
    expect(said).toMatch(/^ ?2\d pass$/m)
  })

  test('and with subordinate ids there are two uids, and the same attempts fail', async () => {
    const targets = {
      ...{
        CANARY_PORT: '1',
        CANARY_ABSTRACT: 'nobody',
        HOST_FILE: program,
        OTHER_FOLDER: folder,
        STATE_FOLDER: folder,
      },
      // Memory is not limited here: the probe says so, and this much no machine has.
      ...{
        HOST_PID: String(process.pid),
        DISK_BYTES: String(64 * 1024 ** 2 + 1),
        MEMORY_BYTES: '900000000000000',
        PROCESSES: '128',
      },
    }
    const command = `id -u; cat /proc/self/uid_map | tr -s ' '\n${probeScript(targets, allProbes)}`
    const [probe, ran] = await asUser('sub', `nobody:300000:65536\n${uid}:300000:65536\n`, command)
    expect(probe).toMatchObject({ probe: { kind: 'ready' } })
    expect((ran as { stdout: string }).stdout.trim().split('\n')).toEqual([
      '1000',
      ` 0 ${uid} 1`,
      ' 1 300000 65535',
      `PROBES RUN: ${allProbes.length}`,
    ])
  })

  test('and without subordinate ids there is one, and the probe says what that means', async () => {
    const [probe, ran] = await asUser('single', '', 'id -u; touch /usr/x; unshare -U true; ls /etc/shadow')
    const { warnings } = (probe as { probe: { warnings: string[] } }).probe
    expect(warnings.join('\n')).toContain('/etc/subuid')
    expect((ran as { stdout: string }).stdout).toBe('1000\n')
    expect((ran as { code: number }).code).not.toBe(0)
  })
})
