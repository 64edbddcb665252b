import type { Repository, Sha } from './repository.ts'
export type Files = Record<
  string,
  string | Uint8Array | { mode: '100755' | '120000' | '160000'; content: string } | null
>
export interface TestRepository extends Repository {
  remote: null
  tip(branch: string): Promise<Sha>
  remove(): Promise<void>
}
/** A fresh folder; gone when `remove` is called or the process ends. */
export async function tempDir(_name?: string): Promise<{ path: string; remove(): Promise<void> }> {
  throw new Error('tempDir is not built yet.')
}
/** A real bare repository. The first branch is the default one; the others start from it and change what they name (null deletes). */
export async function makeRepo(
  _branches: Record<string, Files>,
  _options: { format?: 'sha1' | 'sha256' } = {},
): Promise<TestRepository> {
  throw new Error('makeRepo is not built yet.')
}
/** One more commit on a branch, which is cut from the default branch when it does not exist. */
export async function commit(
  _repo: Repository,
  _branch: string,
  _files: Files,
  _options: { message?: string; from?: Sha } = {},
): Promise<Sha> {
  throw new Error('commit is not built yet.')
}
/** Changes the same file differently on the default branch and on `branch`, so that the two conflict. */
export async function diverge(_repo: Repository, _branch: string, _path: string): Promise<{ base: Sha; head: Sha }> {
  throw new Error('diverge is not built yet.')
}
export interface HttpBackend {
  url: string
  requests: string[]
  close(): Promise<void>
}
/** A plain git host: `git http-backend` behind a small HTTP server, pushes allowed. `url` is the repository's address. */
export async function serveHttpBackend(
  _dir: string,
  _options: { auth?: { username: string; password: string }; readOnly?: boolean } = {},
): Promise<HttpBackend> {
  throw new Error('serveHttpBackend is not built yet.')
}
