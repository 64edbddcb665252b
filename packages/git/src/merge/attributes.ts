import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { LRUCache } from 'lru-cache'
import { git, GitError } from '../process/git.ts'
import { readBlobs } from '../objects/object-reader.ts'
import type { Repository, Sha } from '../repository.ts'

/**
 * A bare repository ignores `.gitattributes`: `merge=union` reports false conflicts, and `-merge` and `binary` merge
 * falsely. git reads attributes from a work tree, so a merge gets one with only the base's `.gitattributes` files.
 */
interface AttributeFile {
  /** Path in the tree, as latin1 so that every byte survives. */
  path: string
  sha: Sha
}

/** The largest public repositories have some hundred of them. Each is written before contents merge. */
export const attributeFilesMax = 50_000
/** Limit for the folders on the way to them: a few objects can name millions of folders. */
export const attributeFoldersMax = 250_000
const attributesBytesMax = 8 * 1024 * 1024

const known = new LRUCache<string, AttributeFile[]>({
  maxSize: 32 * 1024 * 1024,
  sizeCalculation: (files) => files.reduce((sum, { path }) => sum + 150 + path.length, 200),
})

/** `env` is for a store that borrows from the repository and has the commit. */
export async function listAttributeFiles(
  repo: Repository,
  commit: Sha,
  env: Record<string, string> = {},
): Promise<AttributeFile[]> {
  const key = `${repo.dir}\0${commit}`
  const kept = known.get(key)
  if (kept) return kept
  // The listing of a large tree is long and nearly all of it is skipped, so it is parsed as a stream.
  const files: AttributeFile[] = []
  let rest: Buffer = Buffer.alloc(0)
  let folders = 0
  const take = (chunk: Buffer) => {
    const seen = rest.length > 0 ? Buffer.concat([rest, chunk]) : chunk
    const end = seen.lastIndexOf(0) + 1
    for (const file of findAttributeFiles(seen.subarray(0, end))) {
      files.push(file)
      folders += file.path.split('/').length - 1
    }
    rest = seen.subarray(end)
    if (files.length <= attributeFilesMax && folders <= attributeFoldersMax) return
    const found = folders > attributeFoldersMax ? `${attributeFoldersMax} folders on the way to` : attributeFilesMax
    throw new GitError('limit', `This repository has more than ${found} .gitattributes files.`)
  }
  await git(repo.dir, ['ls-tree', '-r', '-z', commit], { env, take })
  known.set(key, files)
  return files
}

const fileName = Buffer.from('.gitattributes\0')

function findAttributeFiles(records: Buffer): AttributeFile[] {
  const files: AttributeFile[] = []
  for (let at = records.indexOf(fileName); at !== -1; at = records.indexOf(fileName, at + 1)) {
    const start = records.lastIndexOf(0, at) + 1
    const record = records.subarray(start, at + fileName.length - 1).toString('latin1')
    const match = /^100(?:644|755) blob ([0-9a-f]+)\t((?:[^]*\/)?\.gitattributes)$/.exec(record)
    if (match && isHarmless(match[2] as string)) files.push({ sha: match[1] as Sha, path: match[2] as string })
  }
  return files
}

/** A crafted tree may name its entries `..` or `.git`; such a path must never become a file. */
function isHarmless(path: string): boolean {
  return path.split('/').every((part) => part !== '' && part !== '.' && part !== '..' && part.toLowerCase() !== '.git')
}

/** Above this number of directories, listing the whole tree is faster than reading each. */
const foldersMax = 500
/** Attributes that can change how contents merge: a driver, the macro that unsets it, and custom macros and markers. */
const telling = /merge|binary|\[attr\]|conflict-marker/

/**
 * Whether the base's attributes for these paths (latin1) can change how their contents merge. Also true when this
 * cannot be determined quickly. Without a work tree git merged them without attributes.
 */
export async function couldAttributesMatter(repo: Repository, baseSha: Sha, paths: string[]): Promise<boolean> {
  const folders = foldersOf(paths)
  if (folders === null) return true
  if (folders.length === 0) return false
  const contents = await readBlobs(
    repo,
    folders.map((folder) => `${baseSha}:${folder}.gitattributes`),
  )
  return contents === null || contents.some((content) => content !== null && telling.test(content.toString('latin1')))
}

/** Every folder on the way to these paths; the root is the empty name. null: a name cannot be used in a request. */
function foldersOf(paths: string[]): string[] | null {
  const folders = new Set<string>()
  for (const path of paths) {
    if (path.includes('\n') || !isHarmless(path)) return null
    for (let end = path.lastIndexOf('/'); end !== -1; end = path.lastIndexOf('/', end - 1)) {
      const folder = path.slice(0, end + 1)
      if (folders.has(folder)) break
      folders.add(folder)
    }
    folders.add('')
    if (folders.size > foldersMax) return null
  }
  return [...folders]
}

/** Writes the files into a work tree at `dir`. */
export async function writeAttributeFiles(
  repo: Repository,
  files: AttributeFile[],
  dir: string,
  env: Record<string, string> = {},
): Promise<void> {
  const input = files.map(({ sha }) => `${sha}\n`).join('')
  const { stdout, cut } = await git(repo.dir, ['cat-file', '--batch'], {
    input,
    env,
    bytesMax: attributesBytesMax,
    overflow: 'cut',
  })
  if (cut) throw new GitError('limit', 'The .gitattributes files of this repository are larger than 8 MB together.')
  let offset = 0
  for (const file of files) {
    const lineEnd = stdout.indexOf(10, offset)
    const size = Number(stdout.subarray(offset, lineEnd).toString().split(' ')[2])
    if (!Number.isInteger(size))
      throw new GitError('exit', `The object ${file.sha} of a .gitattributes file cannot be read.`)
    await writeAt(dir, file.path, stdout.subarray(lineEnd + 1, lineEnd + 1 + size))
    offset = lineEnd + 1 + size + 1
  }
}

async function writeAt(dir: string, path: string, content: Buffer): Promise<void> {
  const folder = path.slice(0, path.lastIndexOf('/') + 1)
  const inDir = (relative: string) => Buffer.concat([Buffer.from(join(dir, '/')), Buffer.from(relative, 'latin1')])
  try {
    if (folder) await mkdir(inDir(folder), { recursive: true })
    await writeFile(inDir(path), content)
  } catch (error) {
    // No work tree could contain this file, or the files it applies to.
    if ((error as NodeJS.ErrnoException).code !== 'ENAMETOOLONG') throw error
  }
}
