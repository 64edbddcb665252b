/** Brings the refs of restored repositories to the moment of the database. */
import { join } from 'node:path'
import { putRefs, readCopyManifest, zeroSha } from '@svc/git'
import type { DbOrTransaction } from '../db/schema.ts'
import { lastValues } from '../projects/replicas/store.ts'
import type { Manifest } from './manifest.ts'
import { acknowledgedRefs, isOurs } from './repositories.ts'

/**
 * A repository from the backup of another server is as of a later moment: its refs go back to what the database
 * recorded. What came after would be unknown to the database, and a take-over would call it lost. A ref whose recorded
 * commit is not there stays as it is.
 */
export async function putRefsOfDatabase(
  db: DbOrTransaction,
  { dataDir, repositories }: { dataDir: string; repositories: Manifest['repositories'] },
): Promise<void> {
  for (const { project_id, kind } of repositories) {
    const dir = join(dataDir, kind, `${project_id}.git`)
    const copy = await readCopyManifest(dir)
    if (copy === null) throw new Error(`The repository ${project_id} was not restored.`)
    const recorded = (await lastValues(db, project_id)).filter(({ ref }) => isOurs(kind, ref))
    const wanted = await acknowledgedRefs(dir, copy, {
      acknowledged: recorded.map(({ ref, new_sha: sha }) => ({ ref, sha })),
    })
    const now = new Map(copy.refs.map(({ ref, sha }) => [ref, sha]))
    const kept = new Set(wanted.map(({ ref }) => ref))
    const gone = copy.refs.filter(({ ref }) => !kept.has(ref))
    await putRefs({ dir, remote: null }, [
      ...wanted.filter(({ ref, sha, target }) => target === null && now.get(ref) !== sha),
      ...gone.map(({ ref, sha }) => ({ ref, sha: zeroSha(sha) })),
    ])
  }
}
