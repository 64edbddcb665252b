/** Makes a repository from the packs and the refs of a backup. */
import { putRefs } from '../refs/refs.ts'
import type { CallOptions, Repository } from '../repository.ts'
import { type CopyManifest, finishCopy, openCopy } from './copy.ts'
import { keepReplicaPack, requireWhole } from './replica.ts'

/** In their order: a pack may build on those before it. Throws unless every ref is there with its whole history. */
export async function restoreCopy(
  dir: string,
  manifest: CopyManifest,
  packs: readonly (() => AsyncIterable<Uint8Array>)[],
  options: CallOptions = {},
): Promise<void> {
  await openCopy(dir, manifest)
  for (const open of packs) await keepReplicaPack(dir, open(), options)
  const refs = manifest.refs.filter(({ target }) => target === null)
  await requireWhole(
    dir,
    refs.map(({ sha }) => sha),
    'Objects that its refs need are missing.',
  )
  const repo: Repository = { dir, remote: null }
  await putRefs(repo, refs)
  await finishCopy(dir, manifest)
}
