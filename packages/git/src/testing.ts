import { mkdtemp, rm } from 'node:fs/promises'
import { rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { git } from './process/git.ts'
import { createManagedRepository } from './mirror/mirror.ts'
import { mergeBase } from './refs/refs.ts'
import type { Repository, Sha } from './repository.ts'
import { readTips } from './refs/tips.ts'

export { serveGatewayOverHttp, type GatewayServer } from './serve/testing-gateway.ts'
export { serveGitHub, type GitHubStandIn } from './hosts/testing-github.ts'
export { makeCertificate } from './hosts/testing-certificate.ts'
export { freePort } from './hosts/testing-port.ts'
export { yieldsToOthers } from './formats/testing-yields.ts'
export { findSshd, makeSshKey, serveSsh, type Sshd } from './hosts/testing-sshd.ts'
export { serveHttpBackend, type HttpBackend } from './serve/testing-http-backend.ts'

/** Contents by path; null deletes. A mode makes an executable, a link (to content), or a submodule (at content). */
export type FileContent = string | Uint8Array | { mode: '100755' | '120000' | '160000'; content: string } | null
export type Files = Record<string, FileContent>

export interface TestRepository extends Repository {
  remote: null
  tip(branch: string): Promise<Sha>
  remove(): Promise<void>
}

const made = new Set<string>()
process.on('exit', () => {
  for (const path of made) rmSync(path, { recursive: true, force: true })
})

/** A temporary folder, removed by `remove` or when the process ends. */
export async function tempDir(name = 'svc-git-test'): Promise<{ path: string; remove(): Promise<void> }> {
  const path = await mkdtemp(join(tmpdir(), `${name}-`))
  made.add(path)
  return {
    path,
    remove: async () => {
      await rm(path, { recursive: true, force: true })
      made.delete(path)
    },
  }
}

/** A real bare repository. The first branch is the default one; the others start from it with their own changes. */
export async function makeRepo(
  branches: Record<string, Files>,
  options: { format?: 'sha1' | 'sha256' } = {},
): Promise<TestRepository> {
  const [defaultBranch = 'main', ...others] = Object.keys(branches)
  const temp = await tempDir()
  const dir = join(temp.path, 'repo.git')
  await createManagedRepository(dir, { defaultBranch, format: options.format ?? 'sha1' })
  const repo: TestRepository = { dir, remote: null, tip: (branch) => tipOf(repo, branch), remove: temp.remove }
  if (branches[defaultBranch] && Object.keys(branches).length > 0)
    await commit(repo, defaultBranch, branches[defaultBranch])
  for (const branch of others) await commit(repo, branch, branches[branch] ?? {})
  return repo
}

async function tipOf(repo: Repository, branch: string): Promise<Sha> {
  const outcome = await readTips({ dir: repo.dir, remote: null }, [branch])
  const sha = outcome.kind === 'tips' ? outcome.tips.get(branch) : undefined
  if (!sha) throw new Error(`The test repository has no branch ${branch}.`)
  return sha
}

let clock = 1_700_000_000

/** Adds a commit to a branch; a new branch starts at `from`, or at the default branch. `parents` makes it a merge. */
export async function commit(
  repo: Repository,
  branch: string,
  files: Files,
  options: { message?: string; from?: Sha; parents?: Sha[]; orphan?: boolean } = {},
): Promise<Sha> {
  const local = { dir: repo.dir, remote: null }
  const known = await readTips(local, 'all')
  if (known.kind !== 'tips') throw new Error(known.reason)
  const own = known.tips.get(branch)
  const start = options.from ?? own ?? (options.orphan ? undefined : known.tips.get(known.head ?? ''))
  const message = options.message ?? `change ${Object.keys(files).join(', ').slice(0, 60)}`
  const chunks: (string | Uint8Array)[] = [
    `commit refs/heads/${branch}\n`,
    `committer Test <test@svc.invalid> ${clock++} +0000\n`,
  ]
  chunks.push(`data ${Buffer.byteLength(message)}\n`, message, '\n')
  if (start) chunks.push(`from ${start}\n`)
  for (const parent of options.parents ?? []) chunks.push(`merge ${parent}\n`)
  for (const [path, content] of Object.entries(files)) chunks.push(...fileChange(path, content))
  chunks.push('\n')
  const input = Buffer.concat(
    chunks.map((chunk) => (typeof chunk === 'string' ? Buffer.from(chunk) : Buffer.from(chunk))),
  )
  // Tests may commit large files on a busy machine, so the server's limits do not apply.
  const patient = { timeoutMs: 300_000, limits: { cpuSeconds: 300 } }
  await git(repo.dir, ['fast-import', '--quiet', '--force', '--date-format=raw'], { input, ...patient })
  return tipOf(repo, branch)
}

function fileChange(path: string, content: FileContent): (string | Uint8Array)[] {
  const name = quotePath(path)
  if (content === null) return [`D ${name}\n`]
  const mode = typeof content === 'string' || content instanceof Uint8Array ? '100644' : content.mode
  const bytes =
    typeof content === 'string' || content instanceof Uint8Array
      ? Buffer.from(content as string)
      : Buffer.from(content.content)
  if (mode === '160000') return [`M 160000 ${bytes.toString()} ${name}\n`]
  return [`M ${mode} inline ${name}\n`, `data ${bytes.length}\n`, bytes, '\n']
}

/** Paths may be in git's own quoted form, as for names that are not UTF-8. */
function quotePath(path: string): string {
  if (path.startsWith('"') && path.endsWith('"')) return path
  return `"${path.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')}"`
}

/** Changes the same file differently on the default branch and on `branch`, so that the two conflict. */
export async function diverge(repo: Repository, branch: string, path: string): Promise<{ base: Sha; head: Sha }> {
  const known = await readTips({ dir: repo.dir, remote: null }, 'all')
  if (known.kind !== 'tips' || !known.head) throw new Error('The test repository has no default branch.')
  const head = await commit(repo, branch, { [path]: `${branch} says so\n` })
  const base = await commit(repo, known.head, { [path]: `${known.head} says otherwise\n` })
  if ((await mergeBase({ dir: repo.dir, remote: null }, base, head)) === null)
    throw new Error('The branches share no history.')
  return { base, head }
}
