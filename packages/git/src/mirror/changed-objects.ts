/** Whether the objects that were written for a commit are all that a copy with its parents lacks. */
import { readTrees, type TreeEntry } from '../objects/object-reader.ts'
import type { Repository, Sha } from '../repository.ts'

interface Changed {
  commit: Sha
  /** Commits that the copy has with their whole history. */
  parents: Sha[]
  /** The ids of the objects that git wrote for the commit. */
  objects: Sha[]
}

/** A folder of the commit, and those of its parents in the same place. */
interface Folder {
  tree: Sha
  before: Sha[]
}

/**
 * git writes no object again that the repository has, such as the tree of the same merge that a check or an earlier try
 * made. So each new folder is compared with those of the parents. False, too, when that is not known.
 */
export async function isAllThatChanged(repo: Repository, { commit, parents, objects }: Changed): Promise<boolean> {
  const written = new Set(objects)
  if (!written.has(commit)) return false
  const roots = await readTrees(repo, [commit, ...parents])
  const [tree, ...before] = roots?.map((root) => root?.sha ?? null) ?? []
  if (tree == null || before.some((sha) => sha === null)) return false
  let level: Folder[] = [{ tree, before: before as Sha[] }]
  while (level.length > 0) {
    const changed = level.filter((folder) => !folder.before.includes(folder.tree))
    if (changed.some((folder) => !written.has(folder.tree))) return false
    const ids = [...new Set(changed.flatMap((folder) => [folder.tree, ...folder.before]))]
    const read = ids.length === 0 ? [] : await readTrees(repo, ids)
    if (read === null || read.includes(null)) return false
    const entries = new Map(ids.map((id, at) => [id, read[at]!.entries]))
    const below = changed.map((folder) => newFolders(folder, entries, written))
    if (below.includes(null)) return false
    level = below.flatMap((folders) => folders ?? [])
  }
  return true
}

/** Null: a new entry was not written. */
function newFolders(
  { tree, before }: Folder,
  entries: Map<Sha, Map<string, TreeEntry>>,
  written: Set<Sha>,
): Folder[] | null {
  const folders: Folder[] = []
  for (const [name, { mode, sha }] of entries.get(tree)!) {
    const earlier = before.flatMap((parent) => entries.get(parent)!.get(name) ?? [])
    if (mode === submodule || earlier.some((entry) => entry.sha === sha)) continue
    if (!written.has(sha)) return null
    if (mode === folderMode) {
      const trees = earlier.filter((entry) => entry.mode === folderMode)
      folders.push({ tree: sha, before: trees.map((entry) => entry.sha) })
    }
  }
  return folders
}

const folderMode = '40000'
/** The commit of another repository. */
const submodule = '160000'
