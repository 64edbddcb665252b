/** The engine alone, in this process, beside the git commands it needs at least. */
import { join } from 'node:path'
import {
  fetchObjects,
  diffCommits,
  landMerge,
  openMirror,
  planMerge,
  previewMerge,
  readTips,
  type Repository,
  type Sha,
} from '../../packages/git/src/index.ts'
import { mergeBase } from '../../packages/git/src/refs/refs.ts'
import { mergeVerificationFailure } from '../../packages/git/src/merge/check.ts'
import { commit, makeRepo, serveHttpBackend, tempDir } from '../../packages/git/src/testing.ts'
import { compare, type Figure, median, timed } from '../report/figures.ts'
import { fill, type Pair, raw, rawMerge, rawPreview } from './repositories.ts'

export async function engineFigures(input: { commits: number; rounds: number }): Promise<Figure[]> {
  const { rounds } = input
  const [repo, temp] = [await makeRepo({ main: {} }), await tempDir()]
  const { pairs } = await fill(repo, { commits: input.commits, pairs: rounds * 5 + 20 })
  const host = await serveHttpBackend(repo.dir)
  const remote = { url: host.url, credential: null, allowProtocols: ['http'] }
  const mirror = await openMirror(join(temp.path, 'mirror.git'), remote)
  const dir = repo.dir
  let next = 0
  const pair = (): Pair => pairs[next++ % pairs.length]!
  const figures = [
    await compare('tip read, managed', rounds, {
      floor: ['git rev-parse', () => raw(dir, ['rev-parse', 'refs/heads/base-1'])],
      ours: () => readTips(repo, ['base-1']),
    }),
    await compare('tip read, over HTTP', rounds, {
      floor: ['git ls-remote', () => raw(dir, ['ls-remote', host.url, 'refs/heads/base-1'])],
      ours: () => readTips(mirror, ['base-1']),
    }),
    await compare('preview, cold', rounds, {
      floor: ['git merge-tree', () => rawPreview(dir, pair())],
      ours: () => previewMerge(repo, pair()),
    }),
    await compare('preview, warm', rounds, {
      floor: ['git merge-tree', () => rawPreview(dir, pairs[0]!)],
      ours: () => previewMerge(repo, pairs[0]!),
    }),
    await compare('diff of one file, cold', rounds, {
      floor: ['git diff A...B', (round) => raw(dir, ['diff', `${pairs[round]!.baseSha}...${pairs[round]!.headSha}`])],
      ours: (round) => diffCommits(repo, pairs[round]!),
    }),
    ...(await mergeFigures(repo, pair, rounds)),
    await compare('bring one new commit over HTTP', Math.min(rounds, 15), {
      floor: [
        'git fetch',
        async (round) => {
          await commit(repo, 'fetched', { f: `${round} floor\n` })
          await raw(mirror.dir, ['fetch', '--quiet', host.url, '+refs/heads/fetched:refs/heads/fetched'])
        },
      ],
      ours: async (round) => fetchObjects(mirror, [await commit(repo, 'fetched', { f: `${round}\n` })]),
    }),
  ]
  await host.close()
  await temp.remove()
  await repo.remove()
  return figures
}

/** Every merge checks its own result. The check is also measured alone, since the floor has none. */
export async function checkAlone(repo: Repository, { baseSha, headSha }: Pair, resultSha: Sha): Promise<number> {
  const ancestor = (await mergeBase(repo, baseSha, headSha))!
  return timed(() => mergeVerificationFailure(repo, { baseSha, headSha, ancestor, resultSha }))
}

/** The rows of a merge: with the check, and the check alone. */
export function mergeRows(merge: Figure, checks: number[]): Figure[] {
  const { floor, floorMs } = merge
  const check = median(checks)
  return [
    merge,
    { what: '  without its check of the result', ms: merge.ms - check, floor, floorMs },
    { what: '  that check alone', ms: check, floor: '', floorMs: null },
  ]
}

async function mergeFigures(repo: { dir: string; remote: null }, pair: () => Pair, rounds: number): Promise<Figure[]> {
  const checks: number[] = []
  const merge = await compare('merge on a managed repository', rounds, {
    floor: ['merge-tree + commit-tree + update-ref', () => rawMerge(repo.dir, pair())],
    ours: async () => {
      const pairOf = pair()
      const { base, baseSha, headSha } = pairOf
      const plan = await planMerge(repo, { baseSha, headSha, message: 'm', date: new Date(0) })
      if (plan.kind !== 'merge-commit') throw new Error(`The plan is ${plan.kind}.`)
      const keep = { number: 1, base: baseSha, head: headSha }
      const landed = await landMerge(repo, { baseRef: base, baseSha, resultSha: plan.resultSha, keep })
      if (landed.kind !== 'landed') throw new Error(`Landing ended ${landed.kind}.`)
      return async () => void checks.push(await checkAlone(repo, pairOf, plan.resultSha))
    },
  })
  return mergeRows(merge, checks)
}
