import { expect, test } from 'bun:test'

import { createKubernetesDriver } from './driver.ts'
import { folderModes, hopeless, howEnded, type Pod, podSpec, type PodSettings, whyPending } from './pod.ts'
import { networkPolicy, wallsFrom } from './walls.ts'

const gib = 1024 ** 3
const limits = { memoryBytesMax: 4 * gib, cpuMax: 1.5, processesMax: 1024, diskBytesMax: 10 * gib }
const settings: PodSettings = {
  ...{
    image: 'registry.example/svc:1',
    projectImages: [],
    imagePullSecrets: [],
    runtimeClass: null,
    nodeSelector: {},
    workspaceStorageClass: null,
  },
}
const specOf = (changed: Partial<PodSettings> = {}, of = limits) =>
  podSpec(of, { settings: { ...settings, ...changed }, serverKey: 'KEY', blankSeconds: 60 }) as {
    containers: { command: string[]; resources: { limits: Record<string, string> }; securityContext: object }[]
    volumes: { name: string; emptyDir?: { medium?: string; sizeLimit: string }; ephemeral?: object }[]
    runtimeClassName?: string
    nodeSelector?: object
  }

test('a pod has the limits, no privileges, and nothing of the cluster', () => {
  const spec = specOf()
  const [container] = spec.containers
  // Memory for programs and every folder in memory.
  expect(container!.resources.limits).toEqual({ cpu: '1500m', memory: String((4 + 10 + 5) * gib + 64 * 1024 ** 2) })
  expect(container!.securityContext).toMatchObject({
    ...{ allowPrivilegeEscalation: false, readOnlyRootFilesystem: true },
    capabilities: { drop: ['ALL'], add: ['SETUID', 'SETGID', 'KILL', 'CHOWN'] },
  })
  expect(container!.command).toEqual(['/usr/local/bin/svc-entrypoint', '--link', 'KEY', '--lease', '60'])
  expect(spec).toMatchObject({ automountServiceAccountToken: false, enableServiceLinks: false, dnsPolicy: 'None' })
  expect(spec.runtimeClassName).toBeUndefined()
  expect(Object.keys(folderModes(limits)).length).toBe(spec.volumes.length)
})

test('an image of a project gets the programs of the service from its image', () => {
  const spec = podSpec(limits, { settings, image: 'registry.example/app:1', serverKey: 'KEY', blankSeconds: 0 }) as {
    containers: { image: string; volumeMounts: { name: string; mountPath: string; readOnly?: boolean }[] }[]
    initContainers: { image: string; command: string[]; securityContext: object }[]
    volumes: { name: string }[]
  }
  expect(spec.containers[0]!.image).toBe('registry.example/app:1')
  const programs = spec.containers[0]!.volumeMounts.filter(({ name }) => name === 'programs')
  expect(programs.map(({ mountPath }) => mountPath)).toEqual(
    ['svc', 'svc-agent', 'svc-entrypoint', 'opencode'].map((name) => `/usr/local/bin/${name}`),
  )
  expect(programs.every(({ readOnly }) => readOnly)).toBe(true)
  expect(spec.initContainers[0]).toMatchObject({ image: 'registry.example/svc:1' })
  expect(JSON.stringify(specOf())).not.toContain('programs')
})

test('a runtime class and labels of nodes are passed on', () => {
  const spec = specOf({ runtimeClass: 'gvisor', nodeSelector: { pool: 'agents' } })
  expect(spec).toMatchObject({ runtimeClassName: 'gvisor', nodeSelector: { pool: 'agents' } })
})

test('nodes fetch the images of a pod with the Secrets of the settings, or as its service account says', () => {
  expect(specOf({ imagePullSecrets: ['one', 'two'] })).toMatchObject({
    imagePullSecrets: [{ name: 'one' }, { name: 'two' }],
  })
  expect(specOf()).not.toHaveProperty('imagePullSecrets')
})

test('a work tree that is larger than memory is on a volume, where there is a storage class', () => {
  const workspace = (of: ReturnType<typeof specOf>) => of.volumes.find(({ name }) => name === 'workspace')
  expect(workspace(specOf())?.emptyDir).toEqual({ medium: 'Memory', sizeLimit: String(10 * gib) })
  const stored = specOf({ workspaceStorageClass: 'fast' })
  expect(workspace(stored)?.ephemeral).toMatchObject({
    volumeClaimTemplate: { spec: { storageClassName: 'fast', resources: { requests: { storage: String(10 * gib) } } } },
  })
  // Its bytes no longer count as memory.
  expect(stored.containers[0]!.resources.limits['memory']).toBe(String((4 + 5) * gib + 64 * 1024 ** 2))
  expect(workspace(specOf({ workspaceStorageClass: 'fast' }, { ...limits, diskBytesMax: gib }))?.emptyDir).toBeDefined()
})

test('the network policy lets nothing out, and in only a server that is a pod', () => {
  expect(networkPolicy(false).spec).toMatchObject({ policyTypes: ['Ingress', 'Egress'], ingress: [], egress: [] })
  expect(networkPolicy(true).spec).toMatchObject({
    ingress: [{ ports: [{ protocol: 'TCP', port: 61082 }] }],
    egress: [],
  })
})

const users = 'users:          0          0 4294967295\n'

test.each([
  ['reached: 10.0.0.5 10.96.0.1\n', 'reached:\n', 'enforced'],
  ['reached: 10.0.0.5\n', 'reached: 10.0.0.5\n', 'open'],
  // Only the API server, and still something to protect.
  ['reached: 10.96.0.1\n', 'reached: 10.96.0.1\n', 'open'],
  ['reached:\n', 'reached:\n', 'nothing-there'],
] as const)('pods that reach %j without and %j with the policy: %s', (free, walled, network) => {
  expect(wallsFrom(free, walled + users)).toEqual({ network, hasOwnUsers: false })
})

test('a test of the policy that says nothing is not taken for a wall', () => {
  expect(() => wallsFrom('reached: 10.0.0.5\n', 'bash: not found\n')).toThrow('bash: not found')
})

test('root of a pod with a user namespace is another user', () => {
  const walls = wallsFrom('reached: 1\n', 'reached:\nusers:   0  65536  65536\n')
  expect(walls.hasOwnUsers).toBeTrue()
})

const pod = (status: Pod['status']): Pod => ({ metadata: { name: 'x' }, ...(status ? { status } : {}) })
const waiting = (reason: string, message: string) =>
  pod({ phase: 'Pending', containerStatuses: [{ state: { waiting: { reason, message } } }] })
const ended = (terminated: { exitCode: number; reason?: string }) =>
  pod({ phase: 'Failed', containerStatuses: [{ state: { terminated } }] })

test('a pod that cannot start says why', () => {
  expect(hopeless(waiting('ImagePullBackOff', 'not found'))).toBe('ImagePullBackOff: not found')
  expect(hopeless(waiting('ErrImagePull', 'timed out'))).toBeNull()
  expect(hopeless(waiting('ContainerCreating', ''))).toBeNull()
  const unschedulable = { type: 'PodScheduled', status: 'False', message: '0/1 nodes are available' }
  expect(whyPending(pod({ phase: 'Pending', conditions: [unschedulable] }))).toBe('0/1 nodes are available')
})

test('the end of a pod reads as a sentence', () => {
  expect(howEnded(ended({ exitCode: 7 }))).toBe('with exit code 7')
  expect(howEnded(ended({ exitCode: 137 }))).toBe('with signal 9')
  expect(howEnded(ended({ exitCode: 137, reason: 'OOMKilled' }))).toBe('out of memory')
  expect(howEnded(pod({ phase: 'Failed', reason: 'Evicted' }))).toBe('because the cluster ended its pod (Evicted)')
  expect(howEnded(null)).toBe('because its pod was deleted')
})

test('a driver that lacks its image or its cluster says what to set', async () => {
  const make = (image: string | null) =>
    createKubernetesDriver({
      ...settings,
      ...{ stateDir: '/nonexistent', access: { kubeconfig: null, service: null }, namespace: null, image },
      ...{ owner: 'x', seed: Buffer.alloc(32), log: () => {} },
    })
  expect(await make(null).probe()).toMatchObject({
    kind: 'missing',
    problem: expect.stringContaining('SVC_KUBERNETES_IMAGE'),
  })
  expect(await make('x').probe()).toMatchObject({ kind: 'missing', problem: expect.stringContaining('KUBECONFIG') })
  expect((await make(null).examine())[0]).toMatchObject({ name: 'cluster', state: 'missing' })
})
