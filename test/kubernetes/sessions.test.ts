/**
 * Sessions, warm sessions, apps and checks of the real server in a real cluster: the same stories as with the other drivers.
 * Without a cluster these tests are skipped and counted.
 */
import { afterAll, describe, expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { program, run } from '../e2e/harness.ts'
import { restartDrill } from '../e2e/restart-drill.ts'
import { warmStory } from '../e2e/warm-story.ts'
import { startTestCluster } from './cluster.ts'
import { sandboxImage, writeSandboxImage } from './sandbox-image.ts'

const cluster = await startTestCluster({ agents: process.env['SVC_TEST_CLAIMS'] === '1' })
const isMissing = typeof cluster === 'string'
if (isMissing) console.log(`Sessions in a cluster are not tested: ${cluster}`)
const { kubeconfig, api } = cluster as Exclude<typeof cluster, string>
const folder = await mkdtemp(join(tmpdir(), 'svc-sessions-'))
if (!isMissing) await cluster.importImage(await writeSandboxImage(folder), sandboxImage)

afterAll(async () => {
  if (!isMissing) await cluster.close()
  await rm(folder, { recursive: true, force: true })
})

const settings = () => ({
  SVC_SANDBOX_DRIVER: 'kubernetes',
  KUBECONFIG: kubeconfig,
  SVC_KUBERNETES_IMAGE: sandboxImage,
  SVC_SANDBOX_MEMORY_MAX: '1GiB',
  SVC_SANDBOX_DISK_MAX: '256MiB',
})

async function expectNothingLeft(): Promise<void> {
  const reply = await api('GET', '/api/v1/namespaces/default/pods?labelSelector=svc.sandbox.users.io/server')
  const { items } = (await reply.json()) as { items: { metadata: { name: string } }[] }
  expect(items.map(({ metadata }) => metadata.name)).toEqual([])
}

describe.skipIf(isMissing)('with a cluster', () => {
  test('the doctor says what is weaker in this cluster', async () => {
    const env = { PATH: process.env['PATH'] ?? '', HOME: folder, SVC_DATA_DIR: join(folder, 'data'), ...settings() }
    const ran = await run([program, 'self-host', 'doctor'], { env })
    expect(ran.stderr).toContain('Sessions can start here.')
    expect(ran.stdout).toContain('a pod that tried was stopped by the network policy')
    expect(ran.stdout).toContain('! kernel: sandboxes share the kernel of their node')
  })

  describe('warm', () => {
    const story = warmStory(settings)
    test('the agent of a warm session sees the environment of a cold one', story.environment)
    test('finds its branch checked out and clean, can push, and knows no conversation but its own', story.branch)
  })

  describe('restarts', () => restartDrill(() => ({ env: settings(), expectNothingLeft })))
})
