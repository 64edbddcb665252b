/** The cluster in which sandboxes run as pods. */
import { resolve } from 'node:path'
import type { Settings } from './settings.ts'

const aName = /^[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?$/
const anImage = /^[a-zA-Z0-9][\w./:@-]{0,511}$/
const aLabel = /^([A-Za-z0-9][\w./-]{0,316})=([A-Za-z0-9](?:[\w.-]{0,61}[A-Za-z0-9])?)?$/

export function readKubernetes(settings: Settings) {
  const optional = (name: string, pattern: RegExp, rule: string): string | null =>
    settings.text(name) === null ? null : settings.matching(name, '', pattern, rule)
  const kubeconfig = settings.text('KUBECONFIG')
  const host = settings.text('KUBERNETES_SERVICE_HOST')
  const port = settings.text('KUBERNETES_SERVICE_PORT')
  return {
    /** KUBECONFIG may list several files; the first one counts. */
    kubeconfig: kubeconfig === null ? null : resolve(kubeconfig.split(':').find((path) => path !== '') ?? kubeconfig),
    /** Set by the kubelet in every pod. */
    service: host === null || port === null ? null : { host, port },
    namespace: optional('SVC_KUBERNETES_NAMESPACE', aName, 'has to be the name of a namespace'),
    image: optional('SVC_KUBERNETES_IMAGE', anImage, 'has to be the name of an image'),
    projectImages: readProjectImages(settings),
    imagePullSecrets: readPullSecrets(settings),
    runtimeClass: optional('SVC_KUBERNETES_RUNTIME_CLASS', aName, 'has to be the name of a runtime class'),
    nodeSelector: readNodeSelector(settings),
    workspaceStorageClass: optional(
      'SVC_KUBERNETES_WORKSPACE_STORAGE_CLASS',
      aName,
      'has to be the name of a storage class',
    ),
  }
}

function readProjectImages(settings: Settings): string[] {
  const name = 'SVC_KUBERNETES_PROJECT_IMAGES'
  const names = settings.list(name)
  // After part of a name, a star would allow more than its reader expects: other registries, other teams.
  if (names.some((each) => !anImage.test(each.replace(/\*$/, '')) || /[^/:@]\*$/.test(each)))
    settings.refuse(
      name,
      'has to be names of images, which may end with a star after a slash or a colon, like "registry.example/team/*"',
    )
  return names
}

function readPullSecrets(settings: Settings): string[] {
  const name = 'SVC_KUBERNETES_PULL_SECRETS'
  const names = settings.list(name)
  if (!names.every((each) => aName.test(each))) settings.refuse(name, 'has to be names of Secrets, separated by commas')
  return names
}

function readNodeSelector(settings: Settings): Record<string, string> {
  const name = 'SVC_KUBERNETES_NODE_SELECTOR'
  const pairs = settings.list(name).map((entry) => aLabel.exec(entry))
  if (pairs.includes(null)) settings.refuse(name, 'has to be labels of nodes, like "pool=agents,disk=ssd"')
  return Object.fromEntries(pairs.flatMap((pair) => (pair === null ? [] : [[pair[1]!, pair[2] ?? '']])))
}
