/** Repeats every two-parent merge of a repository's history and compares our result with that of `git merge`. */
import { rmSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { mergeByUs } from './merge-by-us.ts'
import { borrowRepository, listMerges, type HistoricMerge, type Outcome } from './merge-history.ts'
import { makeWorkTree, mergeInWorkTree } from './merge-in-work-tree.ts'

const usage = 'npm run test:merge-truth -- PATH [--limit N] [--jobs N]'

interface Disagreement extends HistoricMerge {
  git: Outcome
  ours: Outcome
}

process.exitCode = await run().catch((error: Error) => {
  console.error(error.message)
  return 1
})

async function run(): Promise<number> {
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    options: { limit: { type: 'string' }, jobs: { type: 'string', default: '2' } },
  })
  const [path] = positionals
  const limit = values.limit === undefined ? null : Number(values.limit)
  const jobs = Number(values.jobs)
  if (path === undefined || !(limit === null || limit > 0) || !(jobs > 0)) throw new Error(`Usage: ${usage}`)
  const room = await mkdtemp(join(tmpdir(), 'svc-merge-truth-'))
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => {
      rmSync(room, { recursive: true, force: true })
      process.exit(130)
    })
  try {
    return await compareAll(resolve(path), room, { limit, jobs })
  } finally {
    await rm(room, { recursive: true, force: true })
  }
}

async function compareAll(path: string, room: string, limits: { limit: number | null; jobs: number }): Promise<number> {
  const began = performance.now()
  const merges = await listMerges(path, limits.limit)
  const store = join(room, 'store.git')
  await borrowRepository(path, store, merges)
  const counts: Record<Outcome['kind'], number> = { clean: 0, conflicted: 0, failed: 0, incomplete: 0 }
  const disagreements: Disagreement[] = []
  const waiting = [...merges]
  const work = async (_: unknown, index: number) => {
    const workTree = await makeWorkTree(path, join(room, `work-${index}`))
    for (let merge = waiting.shift(); merge; merge = waiting.shift()) {
      const git = await mergeInWorkTree(workTree, merge)
      const ours = await mergeByUs(store, merge)
      counts[git.kind]++
      if (git.kind === 'incomplete') console.log(`${merge.commit} is not compared: ${git.reason}`)
      else if (!isSame(git, ours)) disagreements.push({ ...merge, git, ours })
      if (waiting.length % 200 === 0) console.error(`${waiting.length} to go, ${disagreements.length} disagreed`)
    }
  }
  await Promise.all(Array.from({ length: limits.jobs }, work))
  for (const one of disagreements) {
    console.log(`\n${one.commit}: ${one.head} into ${one.base}`)
    console.log(`  git:  ${JSON.stringify(one.git)}\n  ours: ${JSON.stringify(one.ours)}`)
  }
  const seconds = ((performance.now() - began) / 1000).toFixed(0)
  console.log(`${counts.clean} clean, ${counts.conflicted} conflicted, ${counts.failed} that git refused; ${seconds} s`)
  if (counts.incomplete > 0) console.log(`${counts.incomplete} not compared: the repository lacks some of their files`)
  const compared = merges.length - counts.incomplete
  console.log(`${compared - disagreements.length} of ${compared} merges agreed`)
  return disagreements.length > 0 || compared === 0 ? 1 : 0
}

/** When git itself fails, there is nothing to compare with. */
function isSame(git: Outcome, ours: Outcome): boolean {
  return git.kind !== 'failed' && JSON.stringify(git) === JSON.stringify(ours)
}
