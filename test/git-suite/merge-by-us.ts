import { planMerge, previewMerge, treeOf } from '@svc/git'
import type { HistoricMerge, Outcome } from './merge-history.ts'

/** The preview must predict what the merge does. */
export async function mergeByUs(store: string, { base, head }: HistoricMerge): Promise<Outcome> {
  const repo = { dir: store, remote: null }
  const pair = { baseSha: base, headSha: head }
  try {
    const plan = await planMerge(repo, { ...pair, message: 'merge', date: new Date(0) })
    const preview = await previewMerge(repo, pair)
    const conflicts = plan.kind === 'conflicted' ? plan.files : []
    if (JSON.stringify(preview.conflicts) !== JSON.stringify(conflicts))
      return {
        kind: 'failed',
        reason: `The preview foretells conflicts in ${preview.conflicts.join(', ') || 'nothing'}`,
      }
    if (plan.kind === 'conflicted') return { kind: 'conflicted', files: plan.files }
    if (plan.kind === 'unverified') return { kind: 'failed', reason: plan.reason }
    if (plan.kind === 'merge-commit') return { kind: 'clean', tree: plan.treeSha }
    const tree = await treeOf(repo, plan.kind === 'fast-forward' ? plan.resultSha : base)
    return { kind: 'clean', tree: tree ?? '' }
  } catch (error) {
    return { kind: 'failed', reason: (error as Error).message }
  }
}
