import { afterAll, beforeAll, expect, test } from 'bun:test'
import { createFakeDriver } from '@svc/sandbox/testing'
import { greet } from './banner.ts'
import { driverAdvice } from './choose-driver.ts'
import { makeTestApp, type TestApp } from '../testing.ts'

const sandboxes = createFakeDriver()
sandboxes.probeOutcome = { kind: 'missing', problem: 'bubblewrap is not installed.', install: null }
let app: TestApp
beforeAll(async () => {
  // No engine listens at any socket, and the program for the sandbox does not exist.
  const containers = { sockets: ['/nonexistent/docker.sock'], buildNetwork: 'none' as const }
  app = await makeTestApp({ sandboxes, configure: { sandboxDriver: 'container', containers } })
}, 120_000)
afterAll(() => app.close())

test('the first lines of a server without a driver name the driver it needs and how to get it', async () => {
  const hooks = { rememberOwner: async () => null, knownSettings: async () => [] }
  const text = await (await greet(app.deps, hooks, './svc'))()
  expect(text).toContain('Sessions cannot start yet')
  expect(text).toContain('Docker or Podman (SVC_SANDBOX_DRIVER=container): No container engine answers at /nonexistent')
  expect(text).toContain('Install it with: apt-get install -y docker.io')
  expect(text).toContain('./svc self-host doctor')
})

test('where neither driver works, one of the two is enough', () => {
  const text = driverAdvice(
    {
      local: { kind: 'missing', problem: 'bubblewrap is not installed.', install: 'dnf install -y bubblewrap' },
      container: { kind: 'missing', problem: 'No container engine answers.', install: null },
    },
    { command: 'svc', platform: 'linux' },
  ).join('\n')
  expect(text).toContain('One of these is enough')
  expect(text).toContain('bubblewrap (SVC_SANDBOX_DRIVER=local): bubblewrap is not installed.')
  expect(text).toContain('Install it with: dnf install -y bubblewrap')
  expect(text).toContain('Docker or Podman (SVC_SANDBOX_DRIVER=container): No container engine answers.')
})

test('a Mac is sent to a Linux virtual machine', () => {
  const text = driverAdvice({}, { command: 'svc', platform: 'darwin' }).join('\n')
  expect(text).toContain('sandboxes need Linux, and this is macOS')
  expect(text).toContain('limactl start')
})
