/** The specification of a sandbox's pod. It names no project and holds no secret. Pure. */
import type { SandboxLimits } from '../driver.ts'
import { attachmentsDir, binDir, linkPort, runDir, runtimeHome, workspaceDir } from '../layout.ts'
import type { ApiObject } from './client.ts'

export interface PodSettings {
  image: string
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
    containerStatuses?: {
      state?: {
        waiting?: { reason?: string; message?: string }
        terminated?: { exitCode: number; signal?: number; reason?: string }
      }
    }[]
  }
}

export const containerName = 'sandbox'
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

/** Whether the work tree is on a volume of the storage class instead of in memory. */
export const isStored = (limits: SandboxLimits, settings: PodSettings): boolean =>
  settings.workspaceStorageClass !== null && limits.diskBytesMax > limits.memoryBytesMax

export function podSpec(
  limits: SandboxLimits,
  { settings, serverKey, blankSeconds }: { settings: PodSettings; serverKey: string; blankSeconds: number },
): Record<string, unknown> {
  const folders = foldersOf(limits)
  const stored = isStored(limits, settings)
  // The limit bounds the processes and all folders in memory together.
  const memory =
    limits.memoryBytesMax + (stored ? 0 : limits.diskBytesMax) + halfOf(limits.diskBytesMax) + 64 * megabyte
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
    ...(settings.runtimeClass === null ? {} : { runtimeClassName: settings.runtimeClass }),
    ...(Object.keys(settings.nodeSelector).length === 0 ? {} : { nodeSelector: settings.nodeSelector }),
    containers: [
      {
        name: containerName,
        image: settings.image,
        imagePullPolicy: 'IfNotPresent',
        command: [`${binDir}/svc-entrypoint`, '--link', serverKey, ...lease],
        workingDir: '/',
        ports: [{ containerPort: linkPort }],
        resources: {
          limits: { cpu: `${Math.round(limits.cpuMax * 1000)}m`, memory: String(memory) },
          // Sandboxes wait for their models most of the time, so a node takes more of them than their limits add up to.
          requests: { cpu: '50m', memory: String(Math.min(256 * megabyte, memory)) },
        },
        securityContext: {
          runAsUser: 0,
          runAsGroup: 0,
          readOnlyRootFilesystem: true,
          allowPrivilegeEscalation: false,
          // The daemon may only chown files, switch to the agent's uid, and signal its processes.
          capabilities: { drop: ['ALL'], add: ['SETUID', 'SETGID', 'KILL', 'CHOWN'] },
          seccompProfile: { type: 'RuntimeDefault' },
        },
        volumeMounts: folders.map(({ path }) => ({ name: volumeName(path), mountPath: path })),
      },
    ],
    volumes: folders.map(({ path, bytes }) => ({
      name: volumeName(path),
      ...(path === workspaceDir && stored
        ? storedVolume(bytes, settings.workspaceStorageClass!)
        : { emptyDir: { medium: 'Memory', sizeLimit: String(bytes) } }),
    })),
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

/** Why a pod will not start by itself; null while it may. The first failure to fetch an image is tried again. */
export function hopeless(pod: Pod): string | null {
  const waiting = pod.status?.containerStatuses?.[0]?.state?.waiting
  if (
    /^(ImagePullBackOff|ErrImageNeverPull|InvalidImageName|Create\w+Error|RunContainerError)$/.test(
      waiting?.reason ?? '',
    )
  )
    return `${waiting?.reason}: ${waiting?.message ?? 'the node gives no reason'}`
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
