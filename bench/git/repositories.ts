/** The two repositories of every measurement: a medium one, and one with a long history. */
import { tidyRepository, type Repository, type Sha } from '../../packages/git/src/index.ts'
import { git } from '../../packages/git/src/process/git.ts'

export interface Pair {
  base: string
  head: string
  baseSha: Sha
  headSha: Sha
}

export interface Content {
  repo: Repository
  /** Branches that merge cleanly and touch one file on both sides; each round uses one pair. */
  pairs: Pair[]
}

const lines = (file: number) => Array.from({ length: 40 }, (_, line) => `line ${line} of ${file}\n`).join('')
const pathOf = (file: number) => `src/${file % 40}/file-${file}.ts`

/**
 * Fills a bare repository with 1,200 files, `commits` commits on main, and `pairs` pairs of branches cut a few commits below
 * its tip. Packed the way the service packs: one pack, packed refs, a commit-graph.
 */
export async function fill(repo: Repository, size: { commits: number; pairs: number }): Promise<Content> {
  const out: string[] = []
  let mark = 0
  let clock = 1_600_000_000
  const commit = (branch: string, from: number | null, files: [string, string][]) => {
    out.push(`commit refs/heads/${branch}\nmark :${++mark}\ncommitter A <a@example.test> ${clock++} +0000\ndata 1\nx\n`)
    if (from !== null) out.push(`from :${from}\n`)
    for (const [path, content] of files)
      out.push(`M 100644 inline ${path}\ndata ${Buffer.byteLength(content)}\n${content}\n`)
    return mark
  }
  let tip = commit(
    'main',
    null,
    Array.from({ length: 1200 }, (_, file) => [pathOf(file), lines(file)]),
  )
  // In folders that the branches never touch, and small, so that a long history takes seconds to make.
  for (let n = 1; n < size.commits; n++) tip = commit('main', tip, [[`log/${n % 50}/${n % 1000}.txt`, `${n}\n`]])
  for (let n = 0; n < size.pairs; n++) {
    const start = lines(n % 1200)
    commit(`head-${n}`, tip, [[pathOf(n % 1200), `${n}\n${start}`]])
    commit(`base-${n}`, tip, [[pathOf(n % 1200), `${start}${n}\n`]])
  }
  await git(repo.dir, ['fast-import', '--quiet', '--force', '--date-format=raw'], {
    input: out.join(''),
    lane: 'network',
  })
  await tidyRepository(repo)
  const listed = await git(repo.dir, ['for-each-ref', '--format=%(refname:lstrip=2) %(objectname)', 'refs/heads'])
  const tips = new Map(
    listed.stdout
      .toString()
      .trim()
      .split('\n')
      .map((line) => line.split(' ') as [string, Sha]),
  )
  const pairs = Array.from({ length: size.pairs }, (_, n) => ({
    base: `base-${n}`,
    head: `head-${n}`,
    baseSha: tips.get(`base-${n}`)!,
    headSha: tips.get(`head-${n}`)!,
  }))
  return { repo, pairs }
}

/** Runs git with no limits, queue or checks: the floor. */
export async function raw(dir: string, args: string[], env: Record<string, string> = {}): Promise<string> {
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

export const rawPreview = (dir: string, { baseSha, headSha }: Pair) =>
  raw(dir, ['merge-tree', '--write-tree', baseSha, headSha])

/** The three commands that any merge needs, onto a branch of its own. */
export async function rawMerge(dir: string, { baseSha, headSha, base }: Pair): Promise<void> {
  const tree = await raw(dir, ['merge-tree', '--write-tree', baseSha, headSha])
  const sha = await raw(dir, ['commit-tree', '-p', baseSha, '-p', headSha, '-m', 'm', tree], identity)
  await raw(dir, ['update-ref', `refs/bench/${base}`, sha])
}
