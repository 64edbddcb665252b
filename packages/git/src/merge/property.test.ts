import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { git } from '../process/git.ts'
import { planMerge } from './merge.ts'
import { previewMerge } from './preview.ts'
import type { Sha } from '../repository.ts'
import { makeRepo, tempDir, type TestRepository } from '../testing.ts'
import { buildCases, type MergeCase } from './testing-cases.ts'

/**
 * For any two branches, our merge must be the one that `git merge` makes in a clean work tree: the same tree, or the
 * same files in conflict. SVC_GIT_MERGES runs more of them, SVC_GIT_SEED others; a failure names its seed.
 */
const count = Number(process.env.SVC_GIT_MERGES ?? 150)
const seed = Number(process.env.SVC_GIT_SEED ?? 1)

let repo: TestRepository
let workTree: string
let cases: MergeCase[]

beforeAll(async () => {
  repo = await makeRepo({ main: { 'readme.txt': 'hello\n' } })
  cases = await buildCases(repo, seed, count)
  workTree = (await tempDir()).path
  await git(null, ['init', '--quiet', '--', workTree])
  await Bun.write(join(workTree, '.git/objects/info/alternates'), `${join(repo.dir, 'objects')}\n`)
}, 120_000)

afterAll(() => repo.remove(), 120_000)

describe(`${count} generated merges from seed ${seed}`, () => {
  test(
    'gives the tree or the conflicts of git merge',
    async () => {
      const seen = { clean: 0, conflicted: 0 }
      for (const one of cases) {
        const expected = await mergeInWorkTree(one)
        const actual = await mergeByUs(one)
        expect({ seed: one.seed, story: one.story, ...actual }).toEqual({
          seed: one.seed,
          story: one.story,
          ...expected,
        })
        seen[expected.kind]++
      }
      // A generator that only makes easy cases, or only conflicts, would prove nothing.
      if (count >= 100) expect(Math.min(seen.clean, seen.conflicted)).toBeGreaterThan(count / 8)
    },
    count * 1000,
  )
})

type Outcome = { kind: 'clean'; tree: Sha } | { kind: 'conflicted'; files: string[] }

async function mergeByUs({ baseSha, headSha }: MergeCase): Promise<Outcome | { kind: string }> {
  const [plan, preview] = [
    await planMerge(repo, { baseSha, headSha, message: 'merge', date: new Date(0) }),
    await previewMerge(repo, { baseSha, headSha }),
  ]
  if (plan.kind === 'merge-commit') {
    expect(preview.conflicts).toEqual([])
    return { kind: 'clean', tree: plan.treeSha }
  }
  if (plan.kind !== 'conflicted') return plan
  expect(preview.conflicts).toEqual(plan.files)
  return plan
}

const identity = {
  GIT_AUTHOR_NAME: 'a',
  GIT_AUTHOR_EMAIL: 'a@svc.invalid',
  GIT_COMMITTER_NAME: 'a',
  GIT_COMMITTER_EMAIL: 'a@svc.invalid',
}

async function mergeInWorkTree({ baseSha, headSha }: MergeCase): Promise<Outcome> {
  const gitDir = join(workTree, '.git')
  const run = (args: string[], accept = [0]) =>
    git(gitDir, [`--work-tree=${workTree}`, ...args], { cwd: workTree, env: identity, accept })
  await run(['reset', '--quiet', '--hard'], [0, 128])
  await run(['clean', '-ffdxq'])
  await run(['checkout', '--quiet', '--force', '--detach', baseSha])
  const merged = await run(['merge', '--no-ff', '--allow-unrelated-histories', '-m', 'merge', headSha], [0, 1])
  if (merged.code === 0)
    return { kind: 'clean', tree: (await run(['rev-parse', 'HEAD^{tree}'])).stdout.toString().trim() }
  const unmerged = (await run(['ls-files', '--unmerged', '-z'])).stdout.toString().split('\0').filter(Boolean)
  const files = new Set(unmerged.map((line) => originalName(line.slice(line.indexOf('\t') + 1), headSha)))
  // Conflicts about folders leave nothing unmerged behind; only the message names a path.
  for (const [, path] of merged.stdout.toString().matchAll(folderConflicts)) if (path) files.add(path)
  return { kind: 'conflicted', files: [...files].sort() }
}

const folderConflicts =
  /(?:split\): Unclear where to (?:rename|place)|Cannot map more than one path to|Existing file\/dir at) (.+?)(?: to;| because directory|; implicit directory| in the way of)/g

/** Files that git moved aside as `path~HEAD` or `path~<commit>`. No generated name contains a tilde. */
function originalName(path: string, headSha: Sha): string {
  return path.replace(new RegExp(`~(?:HEAD|${headSha})(?:_\\d+)?(?=/|$)`), '')
}
