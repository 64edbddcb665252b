/** Joins changed lines of the same origin into ranges. */
import { type LineOrigin, originCandidatesMax } from '@svc/contract'
import { comparable, type FileWrite, isTelling } from '@svc/contract/schemas/file-writes'
import type { DbOrTransaction } from '../../db/schema.ts'
import { commandsAndSubAgents, type StoredToolCall } from '../../sessions/conversation/tool-calls-store.ts'
import { type Candidate, newest, suspectsAmong, suspectsIn, type Window } from './candidates.ts'
import { isInTime, matchAdded, matchRemoved } from './match-lines.ts'
import type { BranchCommit, Change } from './read-origins.ts'
import { WrittenLines } from './written-lines.ts'

interface Explained {
  lines: LineOrigin[]
  /** The calls that the lines name, oldest first. */
  calls: StoredToolCall[]
  truncated: boolean
}

interface Transcript {
  change: Change
  /** Oldest first. */
  writes: { call: StoredToolCall; writes: FileWrite[] }[]
  sessionIds: string[]
  /** The file, as inputs of calls name it. */
  names: string[]
}

export async function explainLines(db: DbOrTransaction, transcript: Transcript): Promise<Explained> {
  const { change, writes, sessionIds, names } = transcript
  const written = new WrittenLines()
  for (const [at, { writes: ofCall }] of writes.entries()) for (const write of ofCall) written.apply(at, write)
  const known = [...addedOrigins(change, writes, written), ...removedOrigins(change, writes, written)]
  const isUnknown = ({ call_id, commit }: Known) => call_id === null && (commit === null || commit.by_agent)
  const { calls: commands, truncated } = known.some(isUnknown)
    ? await commandsAndSubAgents(db, sessionIds, names)
    : { calls: [], truncated: false }
  const suspects = suspectsAmong(commands, change.paths)
  const cut = writes.filter((each) => each.writes.some(({ kind }) => kind === 'cut')).map(({ call }) => call)
  const ofWindow = new Map<string, Candidate[]>()
  const lines = known.map((line) => {
    if (!isUnknown(line) || line.candidates.length > 0) return line
    const { after, before } = windowOf(line.commit)
    const key = `${after} ${before}`
    const found =
      ofWindow.get(key) ??
      [...newest(cut.filter(isBefore(before)), 'cut'), ...suspectsIn({ after, before }, suspects)]
        // Any command may remove lines, so without the time of a commit only those that name the file are listed.
        .filter(({ reason }) => line.commit !== null || reason !== 'ran_before_commit')
        .slice(0, originCandidatesMax)
    ofWindow.set(key, found)
    return { ...line, candidates: found }
  })
  const shown = joined(lines)
  const used = new Set(shown.flatMap(({ call_id, candidates }) => [call_id, ...candidates.map((each) => each.call_id)]))
  const calls = [...writes.map(({ call }) => call), ...commands].filter(({ call_id }) => used.has(call_id))
  calls.sort((one, other) => one.started_at.getTime() - other.started_at.getTime())
  return { lines: shown, calls, truncated }
}

interface Known {
  side: LineOrigin['side']
  line: number
  call_id: string | null
  commit: BranchCommit | null
  candidates: Candidate[]
}

function addedOrigins({ hunks, commitOf }: Change, writes: Transcript['writes'], written: WrittenLines): Known[] {
  const lines = hunks.flatMap(({ added: { start, lines } }) =>
    lines.map((text, at) => {
      const commit = commitOf(start + at)
      const committedAt = commit === null ? Infinity : Date.parse(commit.committed_at)
      return { line: start + at, text: comparable(text), commit, byAgent: commit?.by_agent ?? false, committedAt }
    }),
  )
  const starts = writes.map(({ call }) => ({ startedAt: call.started_at.getTime() }))
  const found = matchAdded(lines, written, starts)
  return lines.map(({ line, text, commit, committedAt }, at) => {
    const call = found[at] ?? null
    const writers = call === null && isTelling(text) ? [...written.countsOf(text).keys()] : []
    const others = writers.filter((each) => isInTime(starts[each]!, { committedAt }))
    const candidates = newest(
      others.map((each) => writes[each]!.call),
      'same_text',
    )
    return { side: 'new', line, call_id: call === null ? null : writes[call]!.call.call_id, commit, candidates }
  })
}

/** Where lines were replaced, the added ones have the answer. */
function removedOrigins({ hunks }: Change, writes: Transcript['writes'], written: WrittenLines): Known[] {
  return hunks
    .filter(({ added }) => added.lines.length === 0)
    .flatMap(({ removed: { start, lines } }) =>
      matchRemoved(lines.map(comparable), written).map((call, at): Known => ({
        ...{ side: 'old', line: start + at, call_id: call === null ? null : writes[call]!.call.call_id },
        ...{ commit: null, candidates: [] },
      })),
    )
}

function windowOf(commit: BranchCommit | null): Window {
  if (commit === null) return { after: -Infinity, before: Infinity }
  const after = commit.after === null ? -Infinity : Date.parse(commit.after)
  return { after, before: Date.parse(commit.committed_at) + 1_000 }
}

const isBefore =
  (time: number) =>
  ({ started_at }: StoredToolCall) =>
    started_at.getTime() < time

function joined(lines: Known[]): LineOrigin[] {
  const ranges: LineOrigin[] = []
  let key = ''
  for (const { side, line, call_id, commit, candidates } of lines) {
    const commit_sha = commit?.sha ?? null
    const own = JSON.stringify([side, call_id, commit_sha, candidates])
    const last = ranges.at(-1)
    if (last !== undefined && own === key && last.end + 1 === line) last.end = line
    else ranges.push({ side, start: line, end: line, call_id, commit_sha, candidates })
    key = own
  }
  return ranges
}
