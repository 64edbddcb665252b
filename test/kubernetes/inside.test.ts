/**
 * The kubernetes driver as a server in the cluster uses it: with a service account that has the role of the manual, and with
 * the addresses of pods. Without a cluster these tests are skipped and counted.
 */
import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

import { testLimits } from '../../packages/sandbox/src/conformance/testing-sandboxes.ts'
import { makeAccount, makeNamespace } from './account.ts'
import { startTestCluster, type TestCluster } from './cluster.ts'
import { nodeAddress } from './configs.ts'
import { stubImage, writeStubImage } from './stub-image.ts'

setDefaultTimeout(300_000)

const cluster = await startTestCluster({ agents: false })
const isMissing = typeof cluster === 'string'
if (isMissing) console.log(`A server in a cluster is not tested: ${cluster}`)
const { pid, isOwn, folder: clusterFolder } = cluster as Exclude<typeof cluster, string>
const folder = await mkdtemp(join(tmpdir(), 'svc-inside-'))
const account = join(folder, 'account')
const root = resolve(import.meta.dir, '../..')
const namespace = 'svc-sandboxes'
if (!isMissing && isOwn) await cluster.importImage(await writeStubImage(folder), stubImage)

afterAll(async () => {
  if (!isMissing) await cluster.close()
  await rm(folder, { recursive: true, force: true })
})

async function makeAccountFiles(): Promise<void> {
  await makeNamespace(cluster as TestCluster, namespace)
  const token = await makeAccount(cluster as TestCluster, { namespace, name: 'svc', isInside: true, hasClaims: true })
  mkdirSync(account)
  const files = { token, namespace, 'ca.crt': readFileSync(join(clusterFolder, 'pki/ca.crt'), 'utf8') }
  for (const [name, text] of Object.entries(files)) writeFileSync(join(account, name), text)
}

/** Runs in the network of the cluster, where pods have addresses. */
function scriptInside(): string {
  const options = {
    ...{ stateDir: join(folder, 'state'), namespace: null, image: stubImage, runtimeClass: null, nodeSelector: {} },
    ...{
      workspaceStorageClass: null,
      projectImages: [],
      imagePullSecrets: [],
      owner: 'inside',
      bootMs: 90_000,
      leaseSeconds: 600,
    },
    access: { kubeconfig: null, service: { host: nodeAddress, port: '6443' }, serviceAccountDir: account },
  }
  return `
    const { createKubernetesDriver } = await import('${root}/packages/sandbox/src/kubernetes/driver.ts')
    const { listenAsRelay, runIn } = await import('${root}/packages/sandbox/src/conformance/testing-sandboxes.ts')
    const relaySocket = '${folder}/relay/relay.sock'
    await listenAsRelay(relaySocket)
    const driver = createKubernetesDriver({ ...${JSON.stringify(options)}, seed: Buffer.alloc(32, 5), log() {} })
    const findings = await driver.examine()
    const sandbox = await driver.create({ sandboxId: 'one', env: {}, limits: ${JSON.stringify(testLimits)}, relaySocket }, new AbortController().signal)
    const { stdout } = await runIn(sandbox, ['echo', 'reached'])
    await driver.stop('one')
    console.log(JSON.stringify({ findings, stdout, left: await driver.list() }))
    process.exit(0)`
}

describe.skipIf(isMissing || !isOwn)('a server in the cluster', () => {
  test('needs no more than the role of the manual, and reaches its sandboxes by their addresses', async () => {
    await makeAccountFiles()
    const command = ['nsenter', '--target', String(pid), '--net', process.execPath, '--eval', scriptInside()]
    const inside = Bun.spawn(command, { stdout: 'pipe', stderr: 'pipe' })
    const [output, errors] = await Promise.all([new Response(inside.stdout).text(), new Response(inside.stderr).text()])
    expect(errors).toBe('')
    const { findings, stdout, left } = JSON.parse(output) as { findings: { says: string }[]; stdout: string; left: [] }
    expect(findings[0]!.says).toContain('pods are reached by their addresses')
    expect(stdout).toBe('reached\n')
    expect(left).toEqual([])
  })
})
