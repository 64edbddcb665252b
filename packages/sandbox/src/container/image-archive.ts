/**
 * Writes the image of servers and sandboxes as an archive (OCI), which engines load and registries serve. The first layer
 * has this machine's programs, the second the service's own.
 */
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { constants, createReadStream, createWriteStream } from 'node:fs'
import {
  chmod,
  copyFile,
  cp,
  mkdir,
  mkdtemp,
  readdir,
  realpath,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { promisify } from 'node:util'

import { findProgram } from '../local/probe.ts'
import { basePaths, withBaseLayer } from './base-image.ts'

const run = promisify(execFile)

interface ArchiveOptions {
  svcBinary: string
  runtimeBinary: string
  /** The archive. It replaces a file of that name once it is complete. */
  output: string
  /** The name that the image gets where it is imported. */
  reference: string
  /** A folder with more files of the second layer, such as `usr/local/node_modules`. */
  more?: string
}

interface Blob {
  digest: string
  size: number
}

const layerType = 'application/vnd.oci.image.layer.v1.tar'
const manifestType = 'application/vnd.oci.image.manifest.v1+json'
const configType = 'application/vnd.oci.image.config.v1+json'
/** The user of a server in a container, in deploy/chart and deploy/compose. */
const serverUser = '10001'
/** Its folders. An engine gives a new volume the owner that its mount point has in the image. */
const serverFolders = ['var/lib/svc', 'etc/svc']

export async function writeImageArchive(options: ArchiveOptions): Promise<void> {
  const output = resolve(options.output)
  // Beside the archive, because the layers are large and temporary folders are often in memory.
  const folder = await mkdtemp(join(dirname(output), '.svc-image-'))
  try {
    const layers = [
      await baseLayer(folder, options),
      await programLayer(folder, options),
      await serverFoldersLayer(folder),
    ]
    await writeIndex(folder, layers, options.reference)
    const archive = join(folder, 'archive.tar')
    await run('tar', ['-c', '-f', archive, '-C', folder, 'oci-layout', 'index.json', 'manifest.json', 'blobs'])
    await rename(archive, output)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function baseLayer(folder: string, { svcBinary, runtimeBinary, more }: ArchiveOptions): Promise<Blob> {
  const file = join(folder, 'layer')
  // With bubblewrap, a server in a container makes its own sandboxes.
  const bubblewrap = findProgram('bwrap')
  const tools = bubblewrap === null ? [] : [bubblewrap]
  const linked = more === undefined ? [] : await linkedPrograms(more)
  const found = await basePaths([svcBinary, runtimeBinary, ...tools, ...linked], tools)
  // Libraries that come with those programs.
  const own = more === undefined ? null : `${await realpath(more)}/`
  const paths = found.filter((path) => own === null || !path.startsWith(own))
  await withBaseLayer(paths, (layer) => pipeline(layer, createWriteStream(file)))
  return keepBlob(folder, file)
}

async function linkedPrograms(folder: string): Promise<string[]> {
  const names = await readdir(folder, { recursive: true })
  return names.filter((name) => /\/bin\/|\.so\b/.test(name)).map((name) => join(folder, name))
}

async function programLayer(folder: string, { svcBinary, runtimeBinary, more }: ArchiveOptions): Promise<Blob> {
  const stage = join(folder, 'programs')
  const bin = join(stage, 'usr/local/bin')
  if (more !== undefined) await cp(more, stage, { recursive: true, verbatimSymlinks: true })
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
  const rights = ['--owner=0', '--group=0', '--numeric-owner', '--mode=a+rX,go-w']
  await run('tar', ['-c', '-f', file, ...rights, '-C', stage, 'usr'])
  await rm(stage, { recursive: true })
  return keepBlob(folder, file)
}

/** Not in the layer before, whose files root owns. */
async function serverFoldersLayer(folder: string): Promise<Blob> {
  const stage = join(folder, 'folders')
  for (const name of serverFolders) await mkdir(join(stage, name), { recursive: true })
  for (const name of serverFolders) await chmod(join(stage, name), 0o700)
  const owner = [`--owner=${serverUser}`, `--group=${serverUser}`, '--numeric-owner']
  const file = join(folder, 'layer')
  await run('tar', ['-c', '-f', file, ...owner, '-C', stage, ...serverFolders])
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
  // Docker before version 25 reads this file instead.
  const [Config, ...Layers] = [config, ...layers].map(({ digest }) => `blobs/sha256/${digest.replace('sha256:', '')}`)
  await writeFile(join(folder, 'manifest.json'), JSON.stringify([{ Config, RepoTags: [reference], Layers }]))
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
