/** How the changed lines of one file were written, from the transcripts of its sessions and the commits of the branch. */
import { originPromptCharsMax, type Origins, ServiceError } from '@svc/contract'
import { fileWritesOf } from '@svc/contract/schemas/file-writes'
import { toolTarget } from '@svc/contract/schemas/tool-outcome'
import { blameFile, changedLines, type ChangedLines, diffCommits, listCommits, type Repository } from '@svc/git'
import { notFound } from '../../auth/allow.ts'
import type { Caller } from '../../auth/actor.ts'
import { controlledOf } from '../../auth/session-control.ts'
import type { ProjectRow } from '../../projects/store.ts'
import { withinLimits } from '../../projects/within-limits.ts'
import { promptTexts, type StoredToolCall, writesNaming } from '../../sessions/conversation/tool-calls-store.ts'
import { commitPair, type PairDeps, withHostsHelp } from '../preview/commit-pair.ts'
import { requireChangeRequest } from '../store.ts'
import { explainLines } from './explain-lines.ts'
import { sessionsOfHead } from './sessions-store.ts'

interface Input {
  project: ProjectRow
  crId: string
  path: string
  caller: Pick<Caller, 'actor'>
  signal: AbortSignal
}

/** The git identity of sandboxes, and that of unfinished work which the service saved. */
const agentEmails = ['agent@svc.invalid', 'noreply@svc.invalid']
const linesMax = 20_000
const commitsMax = 1_000

export async function readOrigins(deps: PairDeps, input: Input): Promise<Origins> {
  const { project, signal } = input
  const cr = await requireChangeRequest(deps.db, project.project_id, input.crId)
  const pair = await commitPair(deps, { project, cr, signal })
  const { baseSha, headSha } = pair
  const read = (repo: Repository) => withinLimits(changeOf(repo, { ...input, baseSha, headSha }))
  const change = await withHostsHelp(deps, { project, pair }, read)
  const all = await sessionsOfHead(deps.db, cr)
  const isControlled = await controlledOf(
    deps.db,
    input.caller.actor,
    all.map(({ session_id }) => session_id),
  )
  const sessions = all.filter(({ session_id }) => isControlled(session_id))
  const sessionIds = sessions.map(({ session_id }) => session_id)
  const names = change.paths.map(nameInJson)
  const { calls, truncated } = await writesNaming(deps.db, sessionIds, names)
  const writes = calls.map((call) => ({
    call,
    writes: fileWritesOf({ ...call, diff: call.diff ?? undefined }).filter(({ path }) => change.paths.includes(path)),
  }))
  const explained = await explainLines(deps.db, { change, writes, sessionIds, names })
  return {
    head_sha: headSha,
    path: input.path,
    lines: explained.lines,
    commits: change.commits.map(({ sha, author_name, authored_at, subject, by_agent }) => ({
      ...{ sha, author_name, authored_at, subject, by_agent },
    })),
    sessions: sessions.map(({ session_id, name }) => ({ session_id, name })),
    withheld: sessions.length < all.length,
    truncated: truncated || explained.truncated,
    ...(await presentCalls(deps, explained.calls)),
  }
}

/** The name of a file as JSON contains it, without the folders: the runtime takes absolute paths, too. */
const nameInJson = (path: string) => JSON.stringify(path.slice(path.lastIndexOf('/') + 1)).slice(1, -1)

export interface Change {
  /** The names of the file in the commits of the branch. */
  paths: string[]
  hunks: ChangedLines[]
  /** The commit of each added line. */
  commitOf: (line: number) => BranchCommit | null
  commits: BranchCommit[]
}

export interface BranchCommit {
  sha: string
  author_name: string
  authored_at: string
  committed_at: string
  subject: string
  by_agent: boolean
  /** When the commit before it was made; null where it is not on the branch. */
  after: string | null
}

async function changeOf(repo: Repository, input: Input & { baseSha: string; headSha: string }): Promise<Change> {
  const { path, baseSha, headSha, signal } = input
  const diff = await diffCommits(repo, { baseSha, headSha, renames: true }, { signal })
  const file = diff.files.find((each) => each.path === path)
  if (file === undefined) throw notFound('changed file in this change request')
  if (file.binary) throw tooLittle('A binary file has no lines.')
  const { merge_base: fromSha } = diff
  const hunks = await changedLines(repo, { fromSha, toSha: headSha, path, oldPath: file.old_path }, { signal })
  if (hunks.reduce((sum, { added, removed }) => sum + added.lines.length + removed.lines.length, 0) > linesMax)
    throw tooLittle(`This file has more than ${linesMax} changed lines.`)
  const known = { paths: [...new Set([path, ...(file.old_path === null ? [] : [file.old_path])])], hunks }
  if (!hunks.some(({ added }) => added.lines.length > 0)) return { ...known, commitOf: () => null, commits: [] }
  const blamed = await blameFile(repo, { sha: headSha, path, notIn: fromSha ?? undefined }, { signal })
  if (blamed.kind !== 'blame') throw tooLittle(blamed.kind === 'large' ? 'It has more than 1 MiB.' : 'It has no lines.')
  const onBranch = await listCommits(
    repo,
    { sha: headSha, limit: commitsMax, ...(fromSha !== null && { notIn: fromSha }) },
    { signal },
  )
  const bySha = new Map(onBranch.map((commit) => [commit.sha, commit]))
  const commits = new Map(
    blamed.commits.map((commit): [string, BranchCommit] => {
      const parent = bySha.get(bySha.get(commit.sha)?.parents[0] ?? '')
      const by_agent = agentEmails.includes(commit.author_email)
      return [commit.sha, { ...commit, by_agent, after: parent?.committed_at ?? null }]
    }),
  )
  const shaOf = new Map(
    blamed.ranges.flatMap(({ start, end, sha }) =>
      Array.from({ length: end - start + 1 }, (_, at): [number, string] => [start + at, sha]),
    ),
  )
  const added = hunks.flatMap(({ added: { start, lines } }) => lines.map((_, at) => shaOf.get(start + at)))
  const paths = [...new Set([...known.paths, ...blamed.ranges.map((range) => range.path)])]
  return {
    ...{ paths, hunks },
    commitOf: (line) => commits.get(shaOf.get(line) ?? '') ?? null,
    commits: [...commits.values()].filter(({ sha }) => added.includes(sha)),
  }
}

function tooLittle(why: string): ServiceError {
  return new ServiceError('unprocessable', `The service can't tell how this file was written. ${why}`, {
    hint: "Look at the session's page, which shows each tool call.",
  })
}

async function presentCalls(deps: PairDeps, calls: StoredToolCall[]): Promise<Pick<Origins, 'calls' | 'prompts'>> {
  const sessionIds = [...new Set(calls.map(({ session_id }) => session_id))]
  const prompts = await promptTexts(deps.db, sessionIds, originPromptCharsMax + 1)
  const shown = calls.map((call) => {
    const before = ({ session_id, at }: (typeof prompts)[number]) =>
      session_id === call.session_id && at.getTime() <= call.started_at.getTime()
    return { call, prompt: prompts.findLast(before) ?? null }
  })
  const used = new Set(shown.map(({ prompt }) => prompt))
  return {
    calls: shown.map(({ call: { call_id, message_id, session_id, tool, title, input, started_at }, prompt }) => ({
      ...{ call_id, message_id, session_id, prompt_id: prompt?.message_id ?? null, tool },
      title: toolTarget({ title, input }).slice(0, 500),
      at: started_at.toISOString(),
    })),
    prompts: prompts
      .filter((prompt) => used.has(prompt))
      .map(({ message_id, session_id, text, at }) => ({
        ...{ message_id, session_id, at: at.toISOString() },
        text: text.slice(0, originPromptCharsMax).toWellFormed(),
        truncated: text.length > originPromptCharsMax,
      })),
  }
}
