/** The report on a cluster, for people. */
import { type Finding, good, weak } from '../finding.ts'
import type { Cluster } from './cluster.ts'
import type { PodSettings } from './pod.ts'
import type { Walls } from './walls.ts'

export function examineCluster(
  cluster: Cluster,
  { settings, walls }: { settings: PodSettings; walls: Walls },
): Finding[] {
  const way = cluster.isInside ? 'pods are reached by their addresses' : 'pods are reached by port-forwards of the API'
  return [
    good('cluster', `Kubernetes ${cluster.version} at ${cluster.server}, namespace ${cluster.namespace}; ${way}`),
    good('image', settings.image),
    good(
      'starts',
      cluster.hasClaims
        ? 'sandboxes claim pods that already run, by agent-sandbox'
        : 'each sandbox starts a pod; with agent-sandbox in the cluster, it would claim one that already runs',
    ),
    settings.runtimeClass === null
      ? weak('kernel', 'sandboxes share the kernel of their node', 'SVC_KUBERNETES_RUNTIME_CLASS=gvisor')
      : good('kernel', `the runtime class ${settings.runtimeClass} isolates sandboxes`),
    walls.hasOwnUsers
      ? good('users', "root in a pod is not its node's root")
      : weak('users', "root in a pod is its node's root user, without its privileges"),
    good('system calls', "the runtime's filter and ours, which PID 1 puts on itself"),
    weak('devices', "a sandbox reads its node's /sys"),
    weak(
      'limits',
      'memory and CPU time by the kubelet; processes by its podPidsLimit, which nothing in the API shows',
      'podPidsLimit: 1024 in the configuration of the kubelet',
    ),
    walls.network === 'enforced'
      ? good('network', 'none: a pod that tried was stopped by the network policy; the server dials the sandboxes')
      : weak('network', 'pods of this cluster reach nothing, so nothing shows whether it enforces its network policy'),
    settings.workspaceStorageClass === null
      ? good('files', 'in memory')
      : good('files', `in memory; work trees larger than memory on ${settings.workspaceStorageClass}`),
    settings.projectImages.length === 0
      ? weak(
          'project images',
          'projects may name none, and this driver builds none: every sandbox has the image of SVC_KUBERNETES_IMAGE',
          'SVC_KUBERNETES_PROJECT_IMAGES=registry.example/team/*',
        )
      : good('project images', `projects may name ${settings.projectImages.join(', ')}; this driver builds none`),
  ]
}
