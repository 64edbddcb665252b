import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { chmodSync, existsSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import type { Sandbox, SandboxDriver } from '../driver.ts'
import { compileStub, runIn, testLimits as limits } from '../conformance/testing-sandboxes.ts'
import { createLocalDriver } from './driver.ts'
import { openScopes } from './scopes.ts'

setDefaultTimeout(180_000)

let folder: string
let driver: SandboxDriver
let sandbox: Sandbox
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-hid-'))
  const program = await compileStub(folder)
  // Two by links: /etc/os-release and, on most machines, /bin/who lead below /usr.
  const hiddenPaths = ['/etc/os-release', '/usr/share/doc', '/usr/share/doc/git', '/bin/who', '/usr/none', folder]
  driver = createLocalDriver({
    stateDir: join(folder, 'state'),
    svcBinary: program,
    runtimeBinary: program,
    hiddenPaths,
    log: () => {},
    bootMs: 90_000,
  })
  const spec = { sandboxId: 'hidden', env: {}, limits, relaySocket: null }
  sandbox = await driver.create(spec, new AbortController().signal)
})
afterAll(async () => {
  await driver?.stop('hidden')
  await rm(folder, { recursive: true, force: true })
})

test('what the operator hides is empty in a sandbox, by each of its names, for the agent and its daemon', async () => {
  expect(existsSync('/usr/lib/os-release') && existsSync('/usr/share/doc')).toBeTrue()
  const script = `cat /usr/lib/os-release; ls -A /usr/share/doc; cat /usr/bin/who /bin/who /usr/share/../lib/os-release
    cat /proc/1/root/usr/lib/os-release 2>/dev/null; umount /usr/share/doc 2>/dev/null; ls -A /usr/share/doc`
  for (const as of ['agent', 'daemon'] as const) {
    const done = await runIn(sandbox, ['bash', '-c', script], as)
    expect([as, done.stdout, done.code]).toEqual([as, '', 0])
    const write = await runIn(sandbox, ['bash', '-c', 'touch /usr/share/doc/x || echo x > /usr/lib/os-release'], as)
    expect([as, write.code === 0]).toEqual([as, false])
  }
})

test('what is around it is there', async () => {
  const done = await runIn(sandbox, ['bash', '-c', 'git --version >/dev/null && ls /usr/share | grep -c .'])
  expect([done.code, Number(done.stdout) > 1]).toEqual([0, true])
})

test("systemd's user manager limits sandboxes where it can, and is left alone where it cannot", async () => {
  const systemdRun = join(folder, 'systemd-run')
  const answers = async (lines: string, uid = 1000) => {
    writeFileSync(systemdRun, `#!/bin/sh\nprintf '${lines}'\n`)
    chmodSync(systemdRun, 0o755)
    return openScopes('svc-test', { systemdRun, uid })
  }
  const scopes = await answers('67108864\\n64\\n100000\\n')
  expect([scopes?.kind, scopes?.missing]).toEqual(['scope', []])
  const prefix = scopes!.prefix('a-sandbox', limits).join(' ')
  expect(prefix).toContain(
    `${systemdRun} --user --scope --quiet --collect --unit=svc-test-a-sandbox -p MemoryMax=335544320`,
  )
  expect(prefix).toEndWith('-p MemorySwapMax=0 -p TasksMax=128 -p CPUQuota=200% --')
  expect((await answers('67108864\\n64\\nmax\\n'))?.missing).toEqual(['cpu'])
  for (const lines of ['max\\nmax\\nmax\\n', '67108864\\nmax\\n', '']) expect(await answers(lines)).toBeNull()
  expect(await answers('67108864\\n64\\n100000\\n', 0)).toBeNull()
})
