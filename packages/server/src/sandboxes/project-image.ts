/** The image that a project defines for its sandboxes, for drivers with images. */
import { createHash } from 'node:crypto'
import type { SandboxSettings } from '@svc/contract'
import { readFileAt, type Repository, streamArchive, treeOf } from '@svc/git'
import { type ProjectImage, type SandboxDriver, SandboxError } from '@svc/sandbox'

const dockerfileByDefault = '.svc/Dockerfile'
const contextBytesMax = 256 * 1024 ** 2
const dockerfileBytesMax = 256 * 1024

/** `commit` is the tip of the default branch, so that an agent's own branch builds no image. Null where the driver's own image counts. */
export async function projectImage(
  driver: Pick<SandboxDriver, 'name'>,
  repository: Repository,
  input: { commit: string; settings: SandboxSettings },
): Promise<ProjectImage | null> {
  const { commit, settings } = input
  if (driver.name === 'kubernetes')
    return settings.image === undefined ? null : { kind: 'named', reference: settings.image }
  if (driver.name !== 'container') return null
  const dockerfile = settings.dockerfile ?? dockerfileByDefault
  const found = await readFileAt(repository, { sha: commit, path: dockerfile, bytesMax: dockerfileBytesMax })
  if (found.kind !== 'file') {
    if (settings.dockerfile === undefined) return null
    throw new SandboxError('boot-failed', `svc.toml names ${dockerfile}, which the default branch does not have.`)
  }
  const tree = await treeOf(repository, commit)
  const key = createHash('sha256').update(`${tree} ${dockerfile}`).digest('hex').slice(0, 40)
  return {
    kind: 'built',
    key,
    dockerfile,
    context: () => streamArchive(repository, commit, { bytesMax: contextBytesMax }),
  }
}
