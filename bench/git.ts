import { join } from 'node:path'
import {
  bringObjects,
  diffCommits,
  landMerge,
  mergeBase,
  openMirror,
  planMerge,
  previewMerge,
  readTips,
  type Repository,
  type Sha,
} from '../packages/git/src/index.ts'
import { doubtAboutMerge } from '../packages/git/src/merge-check.ts'
import { git } from '../packages/git/src/git.ts'
import { commit, makeRepo, serveHttpBackend, tempDir, type Files } from '../packages/git/src/testing.ts'

/**
 * What the engine costs beside what git itself costs for the same, in the same run. Medians; the machine is noisy, so
 * the ratio is the figure to look at. `bun bench/git.ts [rounds]`
 */
const rounds = Number(process.argv[2] ?? 30)

interface Line {
  what: string
  floor: string
  floorMs: number
  oursMs: number
}

/** Runs ours and the floor by turns, so that both see the same noise. */
async function compare(
  what: string,
  floor: string,
  runFloor: (round: number) => Promise<unknown>,
  runOurs: (round: number) => Promise<unknown>,
): Promise<Line> {
  const floorMs: number[] = []
  const oursMs: number[] = []
  for (let round = 0; round < rounds + 3; round++) {
    const [a, b] = [await time(() => runFloor(round)), await time(() => runOurs(round))]
    if (round < 3) continue
    floorMs.push(a)
    oursMs.push(b)
  }
  return { what, floor, floorMs: median(floorMs), oursMs: median(oursMs) }
}

async function time(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now()
  await work()
  return performance.now() - start
}

function median(values: number[]): number {
  return values.sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
}

/** The barest way to run git from here: no limits, no queue, no checks. */
async function raw(dir: string, args: string[], env: Record<string, string> = {}): Promise<string> {
  const child = Bun.spawn(['git', `--git-dir=${dir}`, ...args], {
    env: { PATH: process.env.PATH ?? '', GIT_CONFIG_NOSYSTEM: '1', HOME: '/nonexistent', ...env },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'ignore',
  })
  const [out] = await Promise.all([new Response(child.stdout).text(), child.exited])
  return out.trim()
}

const identity = { GIT_AUTHOR_NAME: 'x', GIT_AUTHOR_EMAIL: 'x', GIT_COMMITTER_NAME: 'x', GIT_COMMITTER_EMAIL: 'x' }

/** A middling project: 1,200 files, and pairs of branches that merge cleanly, one for every round. */
async function makeProject(): Promise<{
  repo: Repository & { remove(): Promise<void> }
  pairs: { baseSha: Sha; headSha: Sha }[]
}> {
  const start: Files = {}
  for (let i = 0; i < 1200; i++)
    start[`src/${i % 40}/file-${i}.ts`] = Array.from({ length: 40 }, (_, line) => `line ${line} of ${i}\n`).join('')
  const repo = await makeRepo({ main: start })
  const root = await repo.tip('main')
  const pairs: { baseSha: Sha; headSha: Sha }[] = []
  for (let i = 0; i < rounds * 2 + 10; i++) {
    const headSha = await commit(
      repo,
      `w${i}`,
      { [`src/1/file-1.ts`]: `${i}\n${start['src/1/file-1.ts'] as string}` },
      { from: root },
    )
    const baseSha = await commit(
      repo,
      `b${i}`,
      { [`src/1/file-1.ts`]: `${start['src/1/file-1.ts'] as string}${i}\n` },
      { from: root },
    )
    pairs.push({ baseSha, headSha })
  }
  await git(repo.dir, ['repack', '-adq'])
  await git(repo.dir, ['commit-graph', 'write', '--reachable'])
  return { repo, pairs }
}

const { repo, pairs } = await makeProject()
const pair = (round: number) => pairs[round] as { baseSha: Sha; headSha: Sha }
const host = await serveHttpBackend(repo.dir)
const temp = await tempDir()
const mirror = await openMirror(join(temp.path, 'mirror.git'), {
  url: host.url,
  credential: null,
  allowProtocols: ['http'],
})
const dir = repo.dir
const lines: Line[] = []

lines.push(
  await compare(
    'tip read, managed',
    'git rev-parse',
    () => raw(dir, ['rev-parse', 'refs/heads/b1']),
    () => readTips(repo, ['b1']),
  ),
  await compare(
    'tip read, over HTTP',
    'git ls-remote',
    () => raw(dir, ['ls-remote', host.url, 'refs/heads/b1']),
    () => readTips(mirror, ['b1']),
  ),
  await compare(
    'tip read, over HTTP, 50 readers',
    'git ls-remote, once',
    () => raw(dir, ['ls-remote', host.url, 'refs/heads/b1']),
    () => Promise.all(Array.from({ length: 50 }, () => readTips(mirror, ['b1']))),
  ),
  await compare(
    'preview, cold',
    'git merge-tree',
    (round) => raw(dir, ['merge-tree', '--write-tree', pair(round).baseSha, pair(round).headSha]),
    (round) => previewMerge(repo, pair(round)),
  ),
  await compare(
    'preview, warm',
    'git merge-tree',
    (round) => raw(dir, ['merge-tree', '--write-tree', pair(round).baseSha, pair(round).headSha]),
    () => previewMerge(repo, pair(5)),
  ),
  await compare(
    'diff of one file',
    'git diff A...B',
    (round) => raw(dir, ['diff', `${pair(round).baseSha}...${pair(round).headSha}`]),
    (round) => diffCommits(repo, { baseSha: pair(round).headSha, headSha: pair(round).baseSha }),
  ),
)

let checkMs: number[] = []
lines.push(
  await compare(
    'merge on managed, self-check included',
    'merge-tree + commit-tree + update-ref',
    async (round) => {
      const { baseSha, headSha } = pair(round)
      const tree = await raw(dir, ['merge-tree', '--write-tree', baseSha, headSha])
      const sha = await raw(dir, ['commit-tree', '-p', baseSha, '-p', headSha, '-m', 'm', tree], identity)
      await raw(dir, ['update-ref', `refs/heads/b${round}`, sha, baseSha])
    },
    async (round) => {
      const at = rounds + 5 + round
      const { baseSha, headSha } = pair(at)
      const plan = await planMerge(repo, { baseSha, headSha, message: 'm', date: new Date(0) })
      if (plan.kind !== 'merge-commit') throw new Error(`The plan is ${plan.kind}.`)
      const landed = await landMerge(repo, { baseRef: `b${at}`, baseSha, resultSha: plan.resultSha })
      if (landed.kind !== 'landed') throw new Error(`Landing ended ${landed.kind}.`)
      const ancestor = (await mergeBase(repo, baseSha, headSha)) as Sha
      checkMs.push(await time(() => doubtAboutMerge(repo, { baseSha, headSha, ancestor, resultSha: plan.resultSha })))
    },
  ),
)
const merge = lines.at(-1) as Line
const selfCheck = median(checkMs.slice(3))
const versionMs: number[] = []
for (let round = 0; round < rounds; round++) versionMs.push(await time(() => raw(dir, ['version'])))
// Once inside the plan and once measured apart.
merge.oursMs -= selfCheck
lines.push({ ...merge, what: 'merge on managed, self-check apart', oursMs: merge.oursMs - selfCheck })
lines.push({
  what: 'the self-check alone',
  floor: 'git version',
  floorMs: median(versionMs),
  oursMs: selfCheck,
})

lines.push(
  await compare(
    'bring one new commit over HTTP',
    'git fetch',
    async (round) => {
      await commit(repo, 'fetched', { f: `${round} floor\n` })
      await raw(mirror.dir, ['fetch', '--quiet', host.url, '+refs/heads/fetched:refs/heads/fetched'])
    },
    async (round) => {
      const sha = await commit(repo, 'fetched', { f: `${round}\n` })
      await bringObjects(mirror, [sha])
    },
  ),
)

console.log(`${'what'.padEnd(40)}${'ours ms'.padStart(10)}${'floor ms'.padStart(10)}${'ratio'.padStart(8)}   floor`)
for (const { what, floor, floorMs, oursMs } of lines) {
  console.log(
    `${what.padEnd(40)}${oursMs.toFixed(2).padStart(10)}${floorMs.toFixed(2).padStart(10)}${(oursMs / floorMs).toFixed(2).padStart(8)}   ${floor}`,
  )
}
await host.close()
await temp.remove()
await repo.remove()
