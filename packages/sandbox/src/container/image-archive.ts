/**
 * Writes the image of the sandboxes as an archive (OCI), for a cluster: its nodes import the file or a registry serves
 * it. The first layer has this machine's programs, the second the service's own.
 */
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { constants, createReadStream, createWriteStream } from 'node:fs'
import { copyFile, chmod, mkdir, mkdtemp, rename, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { promisify } from 'node:util'

import { basePaths, withBaseLayer } from './base-image.ts'

const run = promisify(execFile)

interface ArchiveOptions {
  svcBinary: string
  runtimeBinary: string
  /** The archive. It replaces a file of that name once it is complete. */
  output: string
  /** The name that the image gets where it is imported. */
  reference: string
}

interface Blob {
  digest: string
  size: number
}

const layerType = 'application/vnd.oci.image.layer.v1.tar'
const manifestType = 'application/vnd.oci.image.manifest.v1+json'
const configType = 'application/vnd.oci.image.config.v1+json'

export async function writeImageArchive(options: ArchiveOptions): Promise<void> {
  const output = resolve(options.output)
  // Beside the archive, because the layers are large and temporary folders are often in memory.
  const folder = await mkdtemp(join(dirname(output), '.svc-image-'))
  try {
    const layers = [await baseLayer(folder, options), await programLayer(folder, options)]
    await writeIndex(folder, layers, options.reference)
    const archive = join(folder, 'archive.tar')
    await run('tar', ['-c', '-f', archive, '-C', folder, 'oci-layout', 'index.json', 'blobs'])
    await rename(archive, output)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function baseLayer(folder: string, { svcBinary, runtimeBinary }: ArchiveOptions): Promise<Blob> {
  const file = join(folder, 'layer')
  const paths = await basePaths([svcBinary, runtimeBinary])
  await withBaseLayer(paths, (layer) => pipeline(layer, createWriteStream(file)))
  return keepBlob(folder, file)
}

async function programLayer(folder: string, { svcBinary, runtimeBinary }: ArchiveOptions): Promise<Blob> {
  const stage = join(folder, 'programs')
  const bin = join(stage, 'usr/local/bin')
  await mkdir(bin, { recursive: true })
  for (const [name, source] of [
    ['svc', svcBinary],
    ['opencode', runtimeBinary],
  ] as const) {
    await copyFile(source, join(bin, name), constants.COPYFILE_FICLONE)
    await chmod(join(bin, name), 0o755)
  }
  for (const name of ['svc-agent', 'svc-entrypoint']) await symlink('svc', join(bin, name))
  const file = join(folder, 'layer')
  await run('tar', ['-c', '-f', file, '--owner=0', '--group=0', '--numeric-owner', '-C', stage, 'usr'])
  await rm(stage, { recursive: true })
  return keepBlob(folder, file)
}

async function writeIndex(folder: string, layers: Blob[], reference: string): Promise<void> {
  const architecture = process.arch === 'arm64' ? 'arm64' : 'amd64'
  const digests = layers.map(({ digest }) => digest)
  const config = await jsonBlob(folder, {
    ...{ architecture, os: 'linux' },
    config: { Cmd: ['/usr/bin/sleep', 'infinity'], Env: ['PATH=/usr/local/bin:/usr/bin:/bin'] },
    rootfs: { type: 'layers', diff_ids: digests },
  })
  const manifest = await jsonBlob(folder, {
    ...{ schemaVersion: 2, mediaType: manifestType },
    config: { mediaType: configType, ...config },
    layers: layers.map((layer) => ({ mediaType: layerType, ...layer })),
  })
  const index = {
    schemaVersion: 2,
    manifests: [
      {
        ...{ mediaType: manifestType, ...manifest, platform: { architecture, os: 'linux' } },
        annotations: {
          'io.containerd.image.name': reference,
          'org.opencontainers.image.ref.name': reference.slice(reference.lastIndexOf(':') + 1),
        },
      },
    ],
  }
  await writeFile(join(folder, 'index.json'), JSON.stringify(index))
  await writeFile(join(folder, 'oci-layout'), JSON.stringify({ imageLayoutVersion: '1.0.0' }))
}

async function jsonBlob(folder: string, value: unknown): Promise<Blob> {
  const file = join(folder, 'json')
  await writeFile(file, JSON.stringify(value))
  return keepBlob(folder, file)
}

/** Moves the file to the place that its content names. */
async function keepBlob(folder: string, file: string): Promise<Blob> {
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(file)) hash.update(chunk as Buffer)
  const digest = hash.digest('hex')
  await mkdir(join(folder, 'blobs/sha256'), { recursive: true })
  await rename(file, join(folder, 'blobs/sha256', digest))
  const { size } = await stat(join(folder, 'blobs/sha256', digest))
  return { digest: `sha256:${digest}`, size }
}
