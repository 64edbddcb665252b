/** Repositories in which two branches differ, and the plan of their merge. */
import { planMerge } from './merge.ts'
import type { Repository, Sha } from '../repository.ts'
import { commit, makeRepo, type Files, type TestRepository } from '../testing.ts'

const date = new Date('2026-01-02T03:04:05Z')
const made: TestRepository[] = []

export async function removeRepos(): Promise<void> {
  for (const repo of made.splice(0)) await repo.remove()
}

export async function repoWith(
  branches: Record<string, Files>,
  options: { format?: 'sha1' | 'sha256' } = {},
): Promise<TestRepository> {
  const repo = await makeRepo(branches, options)
  made.push(repo)
  return repo
}

/** main and work start from `start` and each change the named files. */
export async function forked(
  start: Files,
  main: Files,
  work: Files,
): Promise<{ repo: TestRepository; baseSha: Sha; headSha: Sha }> {
  const repo = await repoWith({ main: start, work })
  const baseSha = await commit(repo, 'main', main)
  return { repo, baseSha, headSha: await repo.tip('work') }
}

export const plan = (repo: Repository, baseSha: Sha, headSha: Sha) =>
  planMerge(repo, { baseSha, headSha, message: 'Merge work', date })
