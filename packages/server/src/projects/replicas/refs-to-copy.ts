/** The store of a project at its home, and the refs of it that a copy gets. */
import { listAllRefs, placeOf, type RefValue, type Repository } from '@svc/git'
import type { Deps } from '../../deps.ts'
import { managedDir, mirrorDir } from '../repository.ts'
import type { ProjectRow } from '../store.ts'
import { requireWholeDisk } from './earlier-disk.ts'
import { lastSeq } from './store.ts'

type Store = Pick<Repository, 'dir' | 'group'>

export function storeOf(deps: Pick<Deps, 'config'>, { project_id, managed, account_id }: ProjectRow): Store {
  return { dir: managed ? managedDir(deps, project_id) : mirrorDir(deps, project_id), group: account_id }
}

/** The branches of an external repository are on its host. */
export async function listRefsToCopy(db: Deps['db'], store: Store, project: ProjectRow): Promise<RefValue[]> {
  const { dir } = store
  const { managed, project_id } = project
  if ((await placeOf(dir)) === null) {
    // A mirror is made at its first use. A home that has lost its disk must not replace a copy with nothing.
    if (managed || (await lastSeq(db, project_id)) > 0)
      throw new Error('The repository of the project is gone from the data folder of its home.')
    return []
  }
  await requireWholeDisk(db, project, store)
  return listAllRefs(dir, managed ? 'refs/' : 'refs/svc/')
}
