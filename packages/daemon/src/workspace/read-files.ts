/**
 * `svc-agent read-files`: reads one folder or one file of the work tree, under the agent's uid, so that nothing is read
 * that the agent may not read. The agent writes that tree and may change it at any moment. Each part of the path is
 * therefore opened below the folder that is already open, and no part may be a symbolic link.
 */
import { closeSync, constants, fstatSync, lstatSync, openSync, readdirSync, readlinkSync, readSync } from 'node:fs'
import type { Stats } from 'node:fs'

import {
  type FileKind,
  type GitState,
  type ReadFilesReply,
  workTreeEntriesMax,
  workTreeFileBytesMax,
} from '@svc/contract/daemon/work-tree'

import type { GitStates } from './git-states.ts'

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK } = constants

interface Reading {
  workspace: string
  /** Bytes, as in Latin-1. */
  path: string
  git: GitStates
}

export async function readFiles({ workspace, path, git }: Reading): Promise<ReadFilesReply> {
  const parts = path === '' ? [] : path.split('/')
  if (parts.some((part) => part === '' || part === '.' || part === '..' || part.includes('\0')))
    return { kind: 'missing', why: 'absent' }
  // git's own files: they are no part of the work tree.
  if (parts.includes('.git')) return { kind: 'missing', why: 'git' }
  const open: number[] = []
  try {
    let folder = openFolder(workspace)
    open.push(folder)
    for (const part of parts.slice(0, -1)) {
      if (lstatSync(below(folder, part)).isSymbolicLink()) return { kind: 'missing', why: 'link' }
      open.push((folder = openFolder(below(folder, part))))
    }
    const name = parts.at(-1)
    if (name === undefined) return await readFolder(folder, '', git)
    const found = lstatSync(below(folder, name))
    if (found.isDirectory()) {
      open.push((folder = openFolder(below(folder, name))))
      return await readFolder(folder, path, git)
    }
    const state = await git.of(path)
    if (found.isSymbolicLink())
      return { kind: 'symlink', git: state, target: latin1(readlinkSync(below(folder, name), { encoding: 'buffer' })) }
    return found.isFile() ? readFile(below(folder, name), state, open) : { kind: 'special', git: state }
  } catch (error) {
    return { kind: 'missing', why: whyMissing(error) }
  } finally {
    for (const fd of open) closeSync(fd)
  }
}

/** Names are bytes, and a path through an open folder cannot be redirected. */
const below = (folder: number, name: string): Buffer =>
  Buffer.concat([Buffer.from(`/proc/self/fd/${folder}/`), Buffer.from(name, 'latin1')])

const latin1 = (bytes: Buffer) => bytes.toString('latin1')

const openFolder = (path: string | Buffer): number =>
  openSync(path as string, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK)

async function readFolder(folder: number, path: string, git: GitStates): Promise<ReadFilesReply> {
  const all = readdirSync(`/proc/self/fd/${folder}`, { encoding: 'buffer' })
  const names = all.map(latin1).filter((name) => name !== '.git')
  names.sort()
  const shown = names.slice(0, workTreeEntriesMax)
  const states = await git.below(path)
  const entries = shown.flatMap((name) => {
    const found = statOf(below(folder, name))
    if (found === null) return []
    const kind = kindOf(found)
    const isFile = kind === 'file' || kind === 'executable'
    return [{ name, kind, size: isFile ? found.size : null, git: states.of(name) }]
  })
  return { kind: 'directory', git: states.self, entries, truncated: names.length > shown.length }
}

/** The agent may have deleted it since it was listed. */
function statOf(path: Buffer): Stats | null {
  try {
    return lstatSync(path)
  } catch {
    return null
  }
}

function kindOf(found: Stats): FileKind {
  if (found.isDirectory()) return 'directory'
  if (found.isSymbolicLink()) return 'symlink'
  if (!found.isFile()) return 'special'
  return (found.mode & 0o111) === 0 ? 'file' : 'executable'
}

/** A pipe or a device may have taken the place of the file since it was examined: neither blocks, nor is it read. */
function readFile(path: Buffer, git: GitState | null, open: number[]): ReadFilesReply {
  const file = openSync(path as unknown as string, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
  open.push(file)
  const found = fstatSync(file)
  if (!found.isFile()) return { kind: 'special', git }
  const bytes = Buffer.alloc(Math.min(found.size, workTreeFileBytesMax))
  let length = 0
  while (length < bytes.length) {
    const read = readSync(file, bytes, length, bytes.length - length, length)
    if (read === 0) break
    length += read
  }
  const kind = (found.mode & 0o111) === 0 ? 'file' : 'executable'
  return { kind, git, size: found.size, content_base64: bytes.toString('base64', 0, length) }
}

function whyMissing(error: unknown): 'absent' | 'link' | 'denied' {
  const { code } = error as NodeJS.ErrnoException
  if (code === 'ELOOP') return 'link'
  if (code === 'EACCES' || code === 'EPERM') return 'denied'
  // The agent changed it just now: ENOTDIR for a link in place of a folder, EINVAL for a file in place of a link.
  if (gone.has(code ?? '')) return 'absent'
  throw error
}

const gone = new Set(['ENOENT', 'ENOTDIR', 'EINVAL', 'ENXIO', 'ENAMETOOLONG'])
