/** Updates the index to the work tree: changed, new, and deleted files, without ignored and oversized ones. */
import { accessSync, constants, lstatSync, type Stats } from 'node:fs'
import { join } from 'node:path'

import type { SaveWorkRequest } from '@svc/contract/daemon/control'

import { type Git, lines, names } from './save-work-git.ts'

interface Staging {
  ours: Git
  agent: Git
  workspace: string
  head: string | null
  limits: Pick<SaveWorkRequest, 'file_bytes_max' | 'bytes_max'>
}

/** The limit for repositories nested in each other. */
const nestedRoundsMax = 5
const notesMax = 20
const placeholder = '.svc-nested'

/** Returns notes for people: the files that were skipped, and why. */
export async function stageChanges(staging: Staging): Promise<string[]> {
  const { ours } = staging
  const notes = new Notes()
  // Refreshes the `stat` of touched but unchanged files, so that only real changes are listed.
  await ours(['update-index', '-q', '--refresh'])
  await dropIgnored(staging)
  const nested = await openNested(staging)
  for (const dir of nested)
    notes.add(`${readable(dir)} is a nested repository: its files are saved, its history is not.`)
  const changed = [...(await changedNames(ours)), ...(await forceAdded(staging))]
  const wanted = await withinLimits(staging, [...new Set(changed)], notes)
  await updateIndex(ours, wanted, notes)
  const placed = nested.map((dir) => `${dir}${placeholder}`)
  if (placed.length > 0) await ours(['update-index', '--force-remove', '-z', '--stdin'], { input: zList(placed) })
  await noteSubmodules(staging, notes)
  return notes.all
}

async function changedNames(ours: Git): Promise<string[]> {
  const listed = await ours(['ls-files', '-z', '--modified', '--deleted', '--others', '--exclude-standard'])
  if (listed.code !== 0) throw new Error(`The files of the work tree could not be listed: ${listed.stderr.trim()}`)
  return names(listed.stdout)
}

/** Removes files that became ignored after an earlier save, unless HEAD tracks them. */
async function dropIgnored({ ours, head }: Staging): Promise<void> {
  const ignored = names((await ours(['ls-files', '-z', '--cached', '--ignored', '--exclude-standard'])).stdout)
  if (ignored.length === 0) return
  const tracked = new Set(head === null ? [] : names((await ours(['ls-tree', '-r', '-z', '--name-only', head])).stdout))
  const gone = ignored.filter((name) => !tracked.has(name))
  if (gone.length > 0) await ours(['update-index', '--force-remove', '-z', '--stdin'], { input: zList(gone) })
}

/** Ignored files that the agent added with --force count as work. */
async function forceAdded({ agent, head, workspace }: Staging): Promise<string[]> {
  if (head === null) return []
  const args = ['diff-index', '--cached', '--no-renames', '--diff-filter=A', '--name-only', '-z', head]
  return names((await agent(args)).stdout).filter((name) => statOf(workspace, name) !== null)
}

/** git does not list a nested repository's files. One index entry below makes it an ordinary folder here. */
async function openNested({ ours }: Staging): Promise<string[]> {
  const opened: string[] = []
  for (let round = 0; round < nestedRoundsMax; round++) {
    const found = (await changedNames(ours)).filter((name) => name.endsWith('/') && !opened.includes(name))
    if (found.length === 0) return opened
    const empty = (await ours(['hash-object', '-w', '--stdin'], { input: '' })).stdout.trim()
    const entries = found.map((dir) => `100644 ${empty}\t${dir}${placeholder}\0`).join('')
    await ours(['update-index', '-z', '--index-info'], { input: entries })
    opened.push(...found)
  }
  return opened
}

async function withinLimits(staging: Staging, changed: string[], notes: Notes): Promise<string[]> {
  const { workspace, limits } = staging
  const wanted: { name: string; size: number }[] = []
  const regular: string[] = []
  for (const name of changed) {
    if (name.endsWith('/') || name.endsWith(`/${placeholder}`)) continue
    const stat = statOf(workspace, name)
    const size = stat?.isFile() ? stat.size : 0
    if (size > limits.file_bytes_max) {
      notes.add(`${readable(name)} is larger than ${megabytes(limits.file_bytes_max)}, so it is not saved.`)
    } else if (stat?.isFile() && !isReadable(workspace, name)) {
      notes.add(`${readable(name)} cannot be read, so it is not saved.`)
    } else {
      wanted.push({ name, size })
      if (stat?.isFile()) regular.push(name)
    }
  }
  const same = await sameAfterConversion(staging, regular)
  // Small files first, so that the limit skips the fewest files.
  const sorted = wanted.filter(({ name }) => !same.has(name)).sort((a, b) => a.size - b.size)
  let bytes = 0
  const kept = sorted.filter(({ size }) => (bytes += size) <= limits.bytes_max)
  if (kept.length < sorted.length)
    notes.add(
      `${sorted.length - kept.length} of ${sorted.length} files are not saved: together they exceed ${megabytes(limits.bytes_max)}.`,
    )
  return kept.map(({ name }) => name)
}

/** Files that differ from HEAD only by line ends or filters, so git considers them unchanged. */
async function sameAfterConversion({ ours, agent }: Staging, files: string[]): Promise<Set<string>> {
  const candidates = files.filter((name) => !name.includes('\n'))
  if (candidates.length === 0) return new Set()
  const staged = new Map<string, string>()
  for (const entry of names((await ours(['ls-files', '-s', '-z'])).stdout)) {
    const [, id, name] = /^\d+ ([0-9a-f]+) 0\t([^]*)$/.exec(entry) ?? []
    if (id !== undefined && name !== undefined) staged.set(name, id)
  }
  const tracked = candidates.filter((name) => staged.has(name))
  if (tracked.length === 0) return new Set()
  const ids = lines((await agent(['hash-object', '--stdin-paths'], { input: `${tracked.join('\n')}\n` })).stdout)
  if (ids.length !== tracked.length) return new Set()
  const modes = await changedModes(ours)
  return new Set(tracked.filter((name, index) => staged.get(name) === ids[index] && !modes.has(name)))
}

/** A file whose mode changed is changed although its content is the same. */
async function changedModes(ours: Git): Promise<Set<string>> {
  const fields = names((await ours(['diff-files', '-z', '--no-renames'])).stdout)
  const changed = new Set<string>()
  for (let i = 0; i + 1 < fields.length; i += 2) {
    const [from, to] = fields[i]!.slice(1).split(' ')
    if (from !== to) changed.add(fields[i + 1]!)
  }
  return changed
}

/** Adds all files at once. When git fails on one, halves the list until that file is found and skipped. */
async function updateIndex(ours: Git, wanted: string[], notes: Notes): Promise<void> {
  if (wanted.length === 0) return
  const done = await ours(['update-index', '--add', '--remove', '--replace', '-z', '--stdin'], { input: zList(wanted) })
  if (done.code === 0) return
  if (wanted.length === 1) {
    notes.add(`${readable(wanted[0]!)} could not be saved.`)
    return
  }
  const half = wanted.length >> 1
  await updateIndex(ours, wanted.slice(0, half), notes)
  await updateIndex(ours, wanted.slice(half), notes)
}

async function noteSubmodules({ ours, agent }: Staging, notes: Notes): Promise<void> {
  const entries = names((await ours(['ls-files', '-s', '-z'])).stdout).filter((entry) => entry.startsWith('160000 '))
  for (const entry of entries.slice(0, 50)) {
    const name = entry.slice(entry.indexOf('\t') + 1)
    const dirty = await agent([
      '-C',
      Buffer.from(name, 'latin1').toString('utf8'),
      'status',
      '--porcelain',
      '--untracked-files=normal',
    ])
    if (dirty.code === 0 && dirty.stdout !== '')
      notes.add(
        `${readable(name)} is a submodule with uncommitted changes, which are not saved. Commit and push them in the submodule.`,
      )
  }
}

class Notes {
  readonly all: string[] = []
  add(note: string): void {
    if (this.all.length < notesMax) this.all.push(note)
    else if (this.all.length === notesMax) this.all.push('More files were skipped.')
  }
}

function statOf(workspace: string, name: string): Stats | null {
  try {
    return lstatSync(pathOf(workspace, name))
  } catch {
    // Deleted, or below a folder that cannot be read.
    return null
  }
}

function isReadable(workspace: string, name: string): boolean {
  try {
    accessSync(pathOf(workspace, name), constants.R_OK)
    return true
  } catch {
    return false
  }
}

/** File names are bytes. */
function pathOf(workspace: string, name: string): Buffer {
  return Buffer.concat([Buffer.from(join(workspace, '/')), Buffer.from(name, 'latin1')])
}

const zList = (list: string[]): string => list.map((name) => `${name}\0`).join('')
const megabytes = (bytes: number): string => `${Math.round(bytes / 1024 / 1024)} MiB`
const readable = (name: string): string => Buffer.from(name, 'latin1').toString('utf8').slice(0, 200)
