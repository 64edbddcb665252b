import { LRUCache } from 'lru-cache'
import { previewMerge } from './preview.ts'
import { mergeEach, mergeTrees } from './merge-tree.ts'
import { writeMergeCommit } from './merge.ts'
import { withMending } from '../mirror/repair.ts'
import { requireSha, type CallOptions, type Repository, type Sha } from '../repository.ts'
import { borrowObjects, withScratch } from '../process/scratch.ts'
import { SharedAnswers } from '../objects/shared-results.ts'

interface Landing {
  baseSha: Sha
  headSha: Sha
  /** Heads that will be merged into the same base later. */
  others: Sha[]
}

/** Files by head; depends only on base, head, and the other head. */
const known = new LRUCache<string, string[]>({
  maxSize: 16 * 1024 * 1024,
  sizeCalculation: (files) => 300 + 2 * files.join('').length,
})
const running = new SharedAnswers<Map<Sha, string[]>>(1, () => 1)

/**
 * The heads in `others` that merge worse once head is merged into base, with the files: those that conflict then but not
 * now. Heads without such files are left out; the result is empty when head itself does not merge.
 */
export async function findCollisions(
  repo: Repository,
  landing: Landing,
  options: CallOptions = {},
): Promise<Map<Sha, string[]>> {
  const { baseSha, headSha } = landing
  const others = [...new Set(landing.others.map(requireSha))]
  const keyOf = (other: Sha) => `${repo.dir}\0${baseSha}${headSha}${other}`
  const asked = others.filter((other) => !known.has(keyOf(other)))
  if (asked.length > 0) {
    const found = await running.get(`${keyOf('')}${asked.join('')}`, options, () =>
      withMending(repo, () => workOut(repo, { baseSha, headSha, others: asked })),
    )
    for (const other of asked) known.set(keyOf(other), found.get(other) ?? [])
  }
  return new Map(
    others.flatMap((other): [Sha, string[]][] => {
      const files = known.get(keyOf(other)) ?? []
      return files.length > 0 ? [[other, files]] : []
    }),
  )
}

async function workOut(repo: Repository, landing: Landing): Promise<Map<Sha, string[]>> {
  const { baseSha, headSha, others } = landing
  const preview = await previewMerge(repo, { baseSha, headSha })
  if (!preview.can_merge || preview.is_up_to_date) return new Map()
  const results = await withScratch(repo.dir, async (scratch) => {
    const env = await borrowObjects(repo.dir, scratch)
    const landed = preview.can_fast_forward ? headSha : await landInScratch(repo, landing, { scratch, env })
    return mergeEach(repo, { baseSha: landed, headShas: others, scratch, env })
  })
  const found = new Map<Sha, string[]>()
  for (const [index, result] of results.entries()) {
    const other = others[index]!
    if (result.kind !== 'conflicted') continue
    const now = new Set((await previewMerge(repo, { baseSha, headSha: other })).conflicts)
    found.set(
      other,
      result.files.filter((file) => !now.has(file)),
    )
  }
  return found
}

/** The commit of the merge, in a temporary store. Nothing depends on its id, so message and date are arbitrary. */
async function landInScratch(
  repo: Repository,
  { baseSha, headSha }: Landing,
  { scratch, env }: { scratch: string; env: Record<string, string> & { GIT_OBJECT_DIRECTORY: string } },
): Promise<Sha> {
  const merged = await mergeTrees(repo, { baseSha, headSha, scratch, env })
  if (merged.kind !== 'clean') throw new Error('A merge that was previewed as clean conflicts.')
  const input = { baseSha, headSha, message: 'preview', date: new Date(0) }
  return writeMergeCommit(repo, merged.treeSha, input, env.GIT_OBJECT_DIRECTORY)
}
