/**
 * Sessions, warm sessions, apps and checks of the real server in a real cluster: the same stories as with the other drivers.
 * Without a cluster these tests are skipped and counted.
 */
import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import type { Session } from '@svc/contract'

import { gatewayOf, git, program, run, Server, until } from '../e2e/harness.ts'
import { workloadFiles, Workloads } from '../e2e/restart-workloads.ts'
import { warmStory } from '../e2e/warm-story.ts'
import { startTestCluster } from './cluster.ts'
import { sandboxImage, writeSandboxImage } from './sandbox-image.ts'

setDefaultTimeout(600_000)

const cluster = await startTestCluster({ agents: false })
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

  test('a session, an app and a check go on over a kill -9 of their server, and end with it when they are to', async () => {
    const server = await Server.start({ SVC_WARM_SANDBOXES: '0', SVC_SANDBOX_LEASE_SECONDS: '300', ...settings() })
    try {
      const { project_id: project } = await server.json<{ project_id: string }>([
        'projects',
        'create',
        '--name',
        'pods',
      ])
      const tree = await pushFiles(server, project)
      const workloads = new Workloads(server, project)
      await workloads.begin(tree)
      const session = await beginSession(server, project)
      await server.kill('SIGKILL')
      await server.boot()
      await workloads.expectGoOn()
      expect(await sessionOf(server, project, session.session_id)).toMatchObject({
        ...{ status: 'running', sandbox_url: session.sandbox_url, last_turn_error: null },
      })
      await workloads.beginBriefCheck()
      await server.kill('SIGKILL')
      await workloads.untilBriefCheckEnded()
      await server.boot()
      await workloads.expectWholeLogs()
      const ran = await server.svc(['self-host', 'stop', '--sessions'], { env: server.env })
      expect(ran.stdout).toContain('is stopping')
      await server.exited
      await expectNothingLeft()
    } finally {
      await server.end()
    }
  })
})

async function pushFiles(server: Server, project: string): Promise<string> {
  const tree = join(server.dir, 'tree')
  await git(server.dir, 'init', '--quiet', '--initial-branch=main', tree)
  for (const [path, text] of Object.entries(workloadFiles)) await Bun.write(join(tree, path), text)
  await git(tree, 'add', '.')
  await git(tree, 'commit', '--quiet', '-m', 'Begin')
  await git(tree, 'push', '--quiet', gatewayOf(server, { project_id: project }), 'main')
  return tree
}

const sessionOf = (server: Server, project: string, id: string) =>
  server.send<Session>('GET', `/v1/projects/${project}/sessions/${id}`)

/** A session whose agent has ended its first turn. */
async function beginSession(server: Server, project: string): Promise<Session> {
  const prompt = ['```svc-script', 'echo "SAID $((40+2))"', '```'].join('\n')
  const { session_id: id } = await server.send<Session>('POST', `/v1/projects/${project}/sessions`, {
    ...{ model: 'svc-scripted-demo', initial_prompt: prompt },
  })
  await until('the agent to answer', async () => {
    const { status, error } = await sessionOf(server, project, id)
    if (status === 'failed') throw new Error(error ?? 'failed')
    const transcript = await server.send<unknown>('GET', `/v1/projects/${project}/sessions/${id}/transcript`)
    return JSON.stringify(transcript).includes('SAID 42')
  })
  return sessionOf(server, project, id)
}
