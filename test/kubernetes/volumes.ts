/** A storage class whose volumes are folders of the test cluster's node. Nothing makes them on demand. */
import { chmod, mkdir } from 'node:fs/promises'
import { join } from 'node:path'

import type { TestCluster } from './cluster.ts'

export const storageClass = 'disks'

export async function makeVolumes({ api, folder }: TestCluster, count: number): Promise<void> {
  const make = async (path: string, body: unknown) => {
    const reply = await api('POST', path, body)
    if (!reply.ok) throw new Error(`${path}: ${await reply.text()}`)
  }
  await make('/apis/storage.k8s.io/v1/storageclasses', {
    ...{ metadata: { name: storageClass }, provisioner: 'kubernetes.io/no-provisioner' },
    volumeBindingMode: 'WaitForFirstConsumer',
  })
  const matchExpressions = [{ key: 'kubernetes.io/hostname', operator: 'In', values: ['node-1'] }]
  for (let index = 0; index < count; index++) {
    const path = join(folder, `disk-${index}`)
    await mkdir(path)
    await chmod(path, 0o755)
    await make('/api/v1/persistentvolumes', {
      metadata: { name: `disk-${index}` },
      spec: {
        ...{ capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], storageClassName: storageClass },
        local: { path },
        nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions }] } },
      },
    })
  }
}
