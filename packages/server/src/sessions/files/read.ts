/** Shows a folder or a file of a session: from its sandbox while it has one, else from what is saved. */
import { fileTextBytesMax, secretValueBytesMax, ServiceError, type SessionFiles } from '@svc/contract'
import { pathBytes, pathText } from '@svc/git'
import { setImmediate as othersHadTheirs } from 'node:timers/promises'
import type { Caller } from '../../auth/actor.ts'
import type { Deps } from '../../deps.ts'
import type { ProjectRow } from '../../projects/store.ts'
import { redactorOfPrompts } from '../../secrets/redactor-for.ts'
import type { SessionWithSandbox } from '../store.ts'
import { filesAsSaved, type Saved } from './as-saved.ts'
import type { Found } from './found.ts'
import { filesInSandbox } from './in-sandbox.ts'

interface Wanted {
  project: ProjectRow
  session: SessionWithSandbox
  path: string
  caller: Caller
  /** Whether the caller may open a terminal, where every file can be read. */
  mayWrite: boolean
  signal: AbortSignal
}

type Redactor = { text(text: string): string }

export async function readSessionFiles(
  deps: Pick<Deps, 'config' | 'db' | 'sessions' | 'keyring' | 'log' | 'redaction'>,
  wanted: Wanted,
): Promise<SessionFiles> {
  const { project, session, path, caller } = wanted
  const isLive = session.status === 'running' || session.status === 'provisioning'
  const saved: Saved = isLive
    ? { found: await filesInSandbox(deps, wanted), savedAt: null, notes: [] }
    : await filesAsSaved(deps, wanted)
  const { found, savedAt, notes } = saved
  if (found.kind === 'missing') throw whyMissing(found.why)
  const redactor = await redactorOfPrompts(deps, project, { sessionId: session.session_id, caller })
  const place = {
    path: redactor.text(path),
    source: isLive ? ('sandbox' as const) : ('saved' as const),
    saved_at: savedAt,
    git: found.git,
    notes: notes.map((note) => redactor.text(note)),
  }
  return await present(found, { place, path, redactor, mayWrite: wanted.mayWrite })
}

type Place = Pick<SessionFiles, 'path' | 'source' | 'saved_at' | 'git' | 'notes'>

async function present(
  found: Exclude<Found, { kind: 'missing' }>,
  { place, path, redactor, mayWrite }: { place: Place; path: string; redactor: Redactor; mayWrite: boolean },
): Promise<SessionFiles> {
  switch (found.kind) {
    case 'directory': {
      const entries = found.entries.toSorted(foldersFirst).map((entry) => ({
        ...entry,
        name: redactor.text(entry.name),
        path: redactor.text(joined(path, entry.name)),
      }))
      return { type: 'directory', ...place, entries, truncated: found.truncated }
    }
    case 'symlink':
      return { type: 'symlink', ...place, target: redactor.text(found.target) }
    case 'special':
      return { type: 'special', ...place }
    case 'file':
    case 'executable': {
      // Where git did not say, the file counts as ignored.
      const isClosed = !mayWrite && (found.git === 'ignored' || found.git === null)
      const { note, ...content } = isClosed ? closed : await contentOf(found, redactor)
      const notes = note === null ? place.notes : [...place.notes, note]
      return { type: found.kind, ...place, notes, size: found.size, ...content }
    }
    default:
      return found satisfies never
  }
}

type Entry = Extract<Found, { kind: 'directory' }>['entries'][number]

function foldersFirst(one: Entry, other: Entry): number {
  const [first, second] = [one, other].map(({ type }) => (type === 'directory' ? 0 : 1)) as [number, number]
  return first === second ? (one.name < other.name ? -1 : 1) : first - second
}

/** Two quoted parts, or one, are quoted together. */
function joined(folder: string, name: string): string {
  if (folder === '') return name
  return pathText(Buffer.concat([pathBytes(folder), Buffer.from('/'), pathBytes(name)]))
}

interface Content {
  binary: boolean
  encoding: 'utf-8' | 'base64'
  content: string
  truncated: boolean
  note: string | null
}

const nothing = { binary: true, encoding: 'base64', content: '', truncated: true } as const

const closed: Content = {
  ...nothing,
  note: 'The content of files that git ignores is shown only to people who can write to the project, since such files often hold credentials.',
}

/** A secret that a cut splits is still found when this much more is read, also one in base64. */
const beyondCutBytes = 2 * secretValueBytesMax

async function contentOf(
  { content, size }: { content: Uint8Array; size: number },
  redactor: Redactor,
): Promise<Content> {
  // git's own rule: a zero byte near the beginning.
  const binary = content.subarray(0, 8000).includes(0)
  const read = content.subarray(0, fileTextBytesMax + beyondCutBytes)
  const text = binary ? null : textOf(read, read.length < size)
  if (text === null) return bytesOf({ content, size }, { binary, redactor })
  const truncated = size > fileTextBytesMax
  const shown = redactor.text(text)
  return {
    binary,
    encoding: 'utf-8',
    content: truncated ? (textOf(Buffer.from(shown).subarray(0, fileTextBytesMax), true) ?? '') : shown,
    truncated,
    note: null,
  }
}

/** Null when it is not UTF-8. Drops a character that the cut split. */
function textOf(bytes: Uint8Array, isCut: boolean): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes, { stream: isCut })
  } catch {
    return null
  }
}

/** Bytes cannot be shown in part, and nothing in them can be replaced. */
async function bytesOf(
  { content, size }: { content: Uint8Array; size: number },
  { binary, redactor }: { binary: boolean; redactor: Redactor },
): Promise<Content> {
  if (content.length < size) return { ...nothing, binary, note: null }
  const bytes = Buffer.from(content)
  if (await holdsSecret(bytes, redactor))
    return { ...nothing, binary, note: 'This file contains a secret, so its content is not shown.' }
  return { binary, encoding: 'base64', content: bytes.toString('base64'), truncated: false, note: null }
}

const pieceBytes = 256 * 1024

/** Searching megabytes takes a part of a second, so other requests have their turn between pieces, which overlap. */
async function holdsSecret(bytes: Buffer, redactor: Redactor): Promise<boolean> {
  for (let at = 0; at < bytes.length; at += pieceBytes) {
    const piece = bytes.subarray(at, at + pieceBytes + beyondCutBytes)
    if ([piece.toString('latin1'), piece.toString('utf8')].some((text) => redactor.text(text) !== text)) return true
    await othersHadTheirs()
  }
  return false
}

function whyMissing(why: Extract<Found, { kind: 'missing' }>['why']): ServiceError {
  const [message, hint] = {
    absent: ['There is no such file in the work tree.', 'It may have been moved or deleted. Open its folder again.'],
    link: ['The path leads through a symbolic link, which is not followed.', 'Open the target of the link.'],
    denied: ["The agent's user may not read this file.", 'Change its permissions in a terminal of the session.'],
    git: ["git's own folder is no part of the work tree.", 'Use git in a terminal of the session, or in a clone.'],
    submodule: ['This is a submodule, and its files are in another repository.', 'Clone that repository.'],
  }[why] as [string, string]
  return new ServiceError('not_found', message, { hint, detail: { reason: why } })
}
