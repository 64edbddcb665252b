/** How files of the work tree compare with the commit that is checked out, by git. */
import type { GitState } from '@svc/contract/daemon/work-tree'

import { type Done, type Git, names } from './save-work-git.ts'

export interface GitStates {
  /** The state of a file. */
  of(path: string): Promise<GitState | null>
  /** The states of what a folder contains, and its own. */
  below(folder: string): Promise<{ self: GitState | null; of(name: string): GitState | null }>
}

/** People wait for the answer, and without it they still see the files. */
const statusMs = 5_000

/** Asks git for the state of a path and of everything below it. All paths are bytes, as in Latin-1. */
interface Said {
  status: Map<string, GitState>
  committed: Set<string>
  /** Other repositories, which only their own git can compare. */
  submodules: Set<string>
}

export function gitStates(git: Git): GitStates {
  async function ask(path: string): Promise<Said | null> {
    const at = argumentOf(path)
    const [status, tree] = await Promise.all([
      inTime(git([...statusCommand, ...(at === '' ? [] : [`:(literal)${at}`])])),
      inTime(git(['ls-tree', '-z', 'HEAD', '--', ...(at === '' ? [] : [...withFoldersAbove(at), `${at}/`])])),
    ])
    if (status.code !== 0) return null
    // Before the first commit there is no HEAD.
    return { status: readStatus(status.stdout), ...readTree(tree.code === 0 ? tree.stdout : '') }
  }

  return {
    async of(path) {
      const said = await ask(path)
      if (said === null || isInSubmodule(said, path)) return null
      return covering(said.status, path) ?? said.status.get(path) ?? unmentioned(said, path)
    },
    async below(folder) {
      const said = await ask(folder)
      if (said === null || isInSubmodule(said, `${folder}/`)) return { self: null, of: () => null }
      const whole = covering(said.status, folder) ?? said.status.get(folder) ?? null
      if (whole === 'new' || whole === 'ignored') return { self: whole, of: () => whole }
      const prefix = folder === '' ? '' : `${folder}/`
      const direct = statesBelow(said.status, prefix)
      const isChanged = direct.values().some((state) => state !== 'ignored')
      const isCommitted = folder === '' || said.committed.values().some((path) => path.startsWith(prefix))
      return {
        self: isChanged ? 'changed' : isCommitted ? 'committed' : unmentioned(said, folder),
        of: (name) => direct.get(name) ?? unmentioned(said, `${prefix}${name}`),
      }
    },
  }
}

/**
 * A filter that the agent set up may hang, and outlive git with its pipes open. So nothing waits for the end of git:
 * the daemon ends the whole process group.
 */
const inTime = (done: Promise<Done>): Promise<Done> => Promise.race([done, Bun.sleep(statusMs).then(() => noAnswer)])
const noAnswer: Done = { code: -1, stdout: '', stderr: '' }

const statusCommand = [
  ...['status', '--porcelain=v1', '-z', '--no-renames', '--ignored=matching', '--untracked-files=normal', '--'],
]

/** The states of what is directly in a folder. A folder in it with any change is changed. */
function statesBelow(status: Map<string, GitState>, prefix: string): Map<string, GitState> {
  const direct = new Map<string, GitState>()
  for (const [path, state] of status) {
    if (!path.startsWith(prefix)) continue
    const [name = '', ...deeper] = path.slice(prefix.length).split('/')
    // An ignored file says nothing about the folder that it is in.
    if (deeper.length === 0) direct.set(name, state)
    else if (state !== 'ignored') direct.set(name, 'changed')
  }
  return direct
}

/** git does not mention committed files, nor empty folders, pipes and sockets. */
function unmentioned({ committed }: Said, path: string): GitState {
  return committed.has(path) || !isText(path) ? 'committed' : 'new'
}

const isInSubmodule = ({ submodules }: Said, path: string) =>
  submodules.values().some((folder) => path.startsWith(`${folder}/`))

/** A folder above that is new or ignored as a whole; git then does not list what is in it. */
function covering(status: Map<string, GitState>, path: string): GitState | null {
  for (const folder of withFoldersAbove(path).slice(0, -1)) {
    const state = status.get(folder)
    if (state === 'new' || state === 'ignored') return state
  }
  return null
}

/** Records are `XY path`. A folder ends with a slash. */
function readStatus(printed: string): Map<string, GitState> {
  return new Map(
    names(printed).map((record) => [record.slice(3).replace(/\/$/, ''), stateOf(record.slice(0, 2))] as const),
  )
}

function stateOf(code: string): GitState {
  if (code === '!!') return 'ignored'
  return code === '??' || code.includes('A') ? 'new' : 'changed'
}

/** Records are `mode type id`, a tab, and the path. */
function readTree(printed: string): Omit<Said, 'status'> {
  const records = names(printed).map((record) => [record.slice(0, 6), record.slice(record.indexOf('\t') + 1)] as const)
  return {
    committed: new Set(records.map(([, path]) => path)),
    submodules: new Set(records.flatMap(([mode, path]) => (mode === '160000' ? [path] : []))),
  }
}

function isText(path: string): boolean {
  const bytes = Buffer.from(path, 'latin1')
  return Buffer.from(bytes.toString('utf8')).equals(bytes)
}

/** Arguments of a program are text here, so a path with other bytes is asked for by the folder above them. */
function argumentOf(path: string): string {
  const known = withFoldersAbove(path).findLast(isText)
  return known === undefined ? '' : Buffer.from(known, 'latin1').toString('utf8')
}

function withFoldersAbove(path: string): string[] {
  const parts = path.split('/')
  return parts.map((_, at) => parts.slice(0, at + 1).join('/'))
}
