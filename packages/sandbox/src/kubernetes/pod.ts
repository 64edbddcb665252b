/** The specification of a sandbox's pod. It names no project and holds no secret. Pure. */
import type { SandboxLimits } from '../driver.ts'
import { attachmentsDir, binDir, linkPort, runDir, runtimeHome, workspaceDir } from '../layout.ts'
import type { ApiObject } from './client.ts'

export interface PodSettings {
  /** Sandboxes whose project names none run it. The programs of the service come from it in any case. */
  image: string
  /** Which images projects may name: names that may end with `*`. */
  projectImages: readonly string[]
  /** Names of Secrets in the namespace of the sandboxes. None: those of its default service account. */
  imagePullSecrets: readonly string[]
  runtimeClass: string | null
  nodeSelector: Record<string, string>
  /** For work trees that are larger than the memory of their sandbox. */
  workspaceStorageClass: string | null
}

export interface Pod extends ApiObject {
  spec?: { nodeName?: string }
  status?: {
    phase?: 'Pending' | 'Running' | 'Succeeded' | 'Failed' | 'Unknown'
    podIP?: string
    reason?: string
    message?: string
    conditions?: { type: string; status: string; reason?: string; message?: string }[]
    containerStatuses?: ContainerStatus[]
    initContainerStatuses?: ContainerStatus[]
  }
}

interface ContainerStatus {
  state?: {
    waiting?: { reason?: string; message?: string }
    terminated?: { exitCode: number; signal?: number; reason?: string }
  }
}

export const containerName = 'sandbox'
/** In the one domain that agent-sandbox lets a claim use. */
export const labels = { server: 'svc.sandbox.users.io/server', sandbox: 'svc.sandbox.users.io/id' }
export const annotations = { sandbox: 'svc.sandbox', limits: 'svc.limits', relay: 'svc.relay', egress: 'svc.egress' }
/** Whether the pod waits in a pool. It ends with its pool. */
export const isBlank = ({ metadata }: Pod): boolean =>
  metadata.labels?.[labels.sandbox] === undefined &&
  metadata.ownerReferences?.some(({ kind }) => kind === 'Sandbox') === true

const megabyte = 1024 * 1024

interface Folder {
  path: string
  mode: number
  bytes: number
}

const halfOf = (bytes: number) => Math.floor(bytes / 2)

/** Each is in memory and has a size of its own: the work tree the whole disk limit, the others half of it. */
function foldersOf({ diskBytesMax }: SandboxLimits): Folder[] {
  const half = halfOf(diskBytesMax)
  return [
    { path: runDir, mode: 0o755, bytes: megabyte },
    { path: workspaceDir, mode: 0o755, bytes: diskBytesMax },
    { path: '/opt/svc', mode: 0o755, bytes: 64 * megabyte },
    { path: runtimeHome, mode: 0o700, bytes: half },
    { path: attachmentsDir, mode: 0o755, bytes: half },
    { path: '/tmp', mode: 0o1777, bytes: half },
    { path: '/var/tmp', mode: 0o1777, bytes: 16 * megabyte },
    { path: '/root', mode: 0o700, bytes: megabyte },
  ]
}

/** The kubelet makes every folder writable for all; PID 1 gives them these modes before anything else runs. */
export const folderModes = (limits: SandboxLimits): Record<string, number> =>
  Object.fromEntries(foldersOf(limits).map(({ path, mode }) => [path, mode]))

const memoryOfFolders = (diskBytesMax: number, stored: boolean) =>
  (stored ? 0 : diskBytesMax) + halfOf(diskBytesMax) + 64 * megabyte

/** Whether the work tree is on a volume of the storage class instead of in memory. */
export const isStored = (
  limits: Pick<SandboxLimits, 'diskBytesMax' | 'memoryBytesMax'>,
  settings: PodSettings,
): boolean => settings.workspaceStorageClass !== null && limits.diskBytesMax > limits.memoryBytesMax

export interface Placement {
  imagePullSecrets?: { name: string }[]
  runtimeClassName?: string
  nodeSelector?: Record<string, string>
}

/** How nodes run a pod, as the settings say. */
export const placement = ({ imagePullSecrets, runtimeClass, nodeSelector }: PodSettings): Placement => ({
  ...(imagePullSecrets.length === 0 ? {} : { imagePullSecrets: imagePullSecrets.map((name) => ({ name })) }),
  ...(runtimeClass === null ? {} : { runtimeClassName: runtimeClass }),
  ...(Object.keys(nodeSelector).length === 0 ? {} : { nodeSelector }),
})

export interface Storage {
  containers: { resources: { limits: { memory: string } } }[]
  volumes: {
    name: string
    emptyDir?: { sizeLimit?: string }
    ephemeral?: ReturnType<typeof storedVolume>['ephemeral']
  }[]
}

/** Whether the work tree of such a pod is where the settings put it now. */
export function isStoredAs({ containers, volumes }: Storage, settings: PodSettings): boolean {
  const volume = volumes.find(({ name }) => name === volumeName(workspaceDir))
  const storageClass = volume?.ephemeral?.volumeClaimTemplate.spec.storageClassName
  if (storageClass !== undefined) return storageClass === settings.workspaceStorageClass
  const diskBytesMax = Number(volume?.emptyDir?.sizeLimit)
  const memoryBytesMax = Number(containers[0]?.resources.limits.memory) - memoryOfFolders(diskBytesMax, false)
  return !isStored({ memoryBytesMax, diskBytesMax }, settings)
}

interface PodInput {
  settings: PodSettings
  /** The project's own. */
  image?: string | null
  serverKey: string
  /** How long the pod waits for its server; 0 for ever. */
  blankSeconds: number
}

export function podSpec(
  limits: SandboxLimits,
  { settings, image = null, serverKey, blankSeconds }: PodInput,
): Record<string, unknown> {
  const folders = foldersOf(limits)
  const stored = isStored(limits, settings)
  // The limit bounds the processes and all folders in memory together.
  const memory = limits.memoryBytesMax + memoryOfFolders(limits.diskBytesMax, stored)
  const lease = blankSeconds > 0 ? ['--lease', String(blankSeconds)] : []
  return {
    restartPolicy: 'Never',
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    hostname: 'sandbox',
    // No name server: lookups fail at once instead of timing out.
    dnsPolicy: 'None',
    dnsConfig: {
      nameservers: ['127.0.0.1'],
      options: [
        { name: 'timeout', value: '1' },
        { name: 'attempts', value: '1' },
      ],
    },
    // PID 1 ends at the signal; this is for one that does not.
    terminationGracePeriodSeconds: 1,
    ...placement(settings),
    containers: [
      {
        name: containerName,
        image: image ?? settings.image,
        imagePullPolicy: 'IfNotPresent',
        command: [`${binDir}/svc-entrypoint`, '--link', serverKey, ...lease],
        workingDir: '/',
        ports: [{ containerPort: linkPort }],
        resources: {
          limits: { cpu: `${Math.round(limits.cpuMax * 1000)}m`, memory: String(memory) },
          // Sandboxes wait for their models most of the time, so a node takes more of them than their limits add up to.
          requests: { cpu: '50m', memory: String(Math.min(256 * megabyte, memory)) },
        },
        // The daemon may only chown files, switch to the agent's uid, and signal its processes.
        securityContext: securityContext(['SETUID', 'SETGID', 'KILL', 'CHOWN']),
        volumeMounts: [
          ...folders.map(({ path }) => ({ name: volumeName(path), mountPath: path })),
          ...(image === null ? [] : programMounts),
        ],
      },
    ],
    volumes: [
      ...folders.map(({ path, bytes }) => ({
        name: volumeName(path),
        ...(path === workspaceDir && stored
          ? storedVolume(bytes, settings.workspaceStorageClass!)
          : { emptyDir: { medium: 'Memory', sizeLimit: String(bytes) } }),
      })),
      ...(image === null ? [] : [{ name: programsVolume, emptyDir: {} }]),
    ],
    ...(image === null ? {} : { initContainers: [copyPrograms(settings.image)] }),
  }
}

const securityContext = (add: string[]) => ({
  ...{ runAsUser: 0, runAsGroup: 0, readOnlyRootFilesystem: true, allowPrivilegeEscalation: false },
  capabilities: { drop: ['ALL'], ...(add.length === 0 ? {} : { add }) },
  seccompProfile: { type: 'RuntimeDefault' },
})

const programsVolume = 'programs'
const programMounts = ['svc', 'svc-agent', 'svc-entrypoint', 'opencode'].map((name) => ({
  ...{ name: programsVolume, mountPath: `${binDir}/${name}`, readOnly: true },
  subPath: name === 'opencode' ? name : 'svc',
}))

/** Before the sandbox starts: an image of a project has none of the service's programs, which change with each upgrade. */
function copyPrograms(image: string) {
  return {
    ...{ name: 'programs', image, imagePullPolicy: 'IfNotPresent' },
    command: ['cp', `${binDir}/svc`, `${binDir}/opencode`, '/programs/'],
    resources: { limits: { cpu: '1', memory: String(256 * megabyte) }, requests: { cpu: '50m', memory: '64Mi' } },
    securityContext: securityContext([]),
    volumeMounts: [{ name: programsVolume, mountPath: '/programs' }],
  }
}

/** It is made with the pod and removed with it. */
function storedVolume(bytes: number, storageClassName: string) {
  const spec = {
    accessModes: ['ReadWriteOnce'],
    storageClassName,
    resources: { requests: { storage: String(bytes) } },
  }
  return { ephemeral: { volumeClaimTemplate: { spec } } }
}

const volumeName = (path: string) => path.slice(1).replaceAll('/', '-')

const hopelessReason = /^(ImagePullBackOff|ErrImageNeverPull|InvalidImageName|Create\w+Error|RunContainerError)$/

/** Why a pod will not start by itself; null while it may. The first failure to fetch an image is tried again. */
export function hopeless(pod: Pod): string | null {
  const { initContainerStatuses: first = [], containerStatuses: then = [] } = pod.status ?? {}
  const waiting = [...first, ...then].find(({ state }) => hopelessReason.test(state?.waiting?.reason ?? ''))?.state
    ?.waiting
  if (waiting !== undefined) return `${waiting.reason}: ${waiting.message ?? 'the node gives no reason'}`
  if (pod.status?.phase === 'Failed' || pod.status?.phase === 'Succeeded') return howEnded(pod)
  return null
}

/** The cluster's message about a pod that does not run yet. */
export function whyPending({ status }: Pod): string {
  const blocked = status?.conditions?.find(({ status: is, message }) => is === 'False' && message)
  return blocked?.message ?? status?.containerStatuses?.[0]?.state?.waiting?.reason ?? 'it is pending'
}

/** "with exit code 7", for a sentence about the end of the sandbox. */
export function howEnded(pod: Pod | null): string {
  if (pod === null) return 'because its pod was deleted'
  const ended = pod.status?.containerStatuses?.[0]?.state?.terminated
  if (ended === undefined) return `because the cluster ended its pod (${pod.status?.reason ?? 'without a reason'})`
  if (ended.reason === 'OOMKilled') return 'out of memory'
  return ended.exitCode > 128 ? `with signal ${ended.exitCode - 128}` : `with exit code ${ended.exitCode}`
}
