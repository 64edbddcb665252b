import { count } from '@svc/contract/count'
import type { UnfinishedWork } from '@svc/sdk'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { applyWork, branchWork, commitsHere, hasCommit, requireClean, takeCommits } from '../../git/apply-work.ts'
import { command } from '../../arguments/command.ts'
import type { Context } from '../../context.ts'
import { Refusal, UsageError } from '../../errors.ts'
import { repositoryHere } from '../../git/gateway.ts'
import { git } from '../../git/git.ts'
import { bold, green, type Output } from '../../terminal/output.ts'
import { sessionAt } from './find.ts'
import { unfinishedLabel } from './labels.ts'
import type { SessionClient } from '../../requests.ts'

type Saved = UnfinishedWork['earlier'][number]

export const recover = command({
  summary: 'Recover unpushed work of a session',
  about: [
    "In a clone, writes the saved files into the work tree, which must be clean, and commits nothing. --branch commits them to a new branch instead and touches no file. Inside the session's own sandbox, restores them in place.",
    'The service saves unpushed work at the end of every turn, every minute, and before a sandbox stops, except for files that git ignores.',
  ],
  scope: 'project',
  args: {
    id: {
      summary: "Id of the session, its first characters, or its name (default: the sandbox's session)",
      optional: true,
      names: 'session',
    },
  },
  flags: {
    branch: { kind: 'text', summary: 'Commit the work to this new branch, and touch no file', value: 'name' },
    'into-sandbox': {
      kind: 'switch',
      summary: 'Restore into the work tree of the running session instead of this folder',
    },
    start: {
      kind: 'number',
      summary: 'The work of this start, as svc sessions info lists it (default: the newest)',
      value: 'n',
      min: 1,
      max: 1_000_000,
    },
  },
  examples: [
    'svc sessions recover 8f3a1c20',
    'svc sessions recover 8f3a1c20 --branch rescued',
    'svc sessions recover 8f3a1c20 --into-sandbox',
    'svc sessions recover 8f3a1c20 --start 2',
  ],
  async run(ctx, { args, flags }) {
    if (flags.branch !== undefined && flags['into-sandbox'])
      throw new UsageError("--branch and --into-sandbox can't be combined")
    if (flags.start !== undefined && flags['into-sandbox'])
      throw new UsageError("--start and --into-sandbox can't be combined: recover it into a clone")
    const given = args.id ?? ctx.io.env.SVC_SESSION_ID
    if (given === undefined) throw new UsageError('Missing <id>', { next: ['svc sessions ls'] })
    const at = await sessionAt(ctx, given)
    return flags['into-sandbox'] ? intoSandbox(ctx, at) : intoClone(ctx, at, flags)
  },
})

async function intoSandbox({ out }: Context, at: SessionClient): Promise<void> {
  out.passing('applying…')
  const done = await at.post('/wip/recover').catch((error: unknown) => nothingSaved(at, error))
  out.clearPassing()
  if (done === null) return sayNothing(out, at)
  out.done(
    { session_id: at.id, into: 'sandbox', files: done.files },
    `${count(done.files, 'file')} restored in the work tree of the session`,
  )
}

/** Null: the session is there, and has nothing to recover. */
async function nothingSaved(at: SessionClient, error: unknown): Promise<null> {
  if ((error as { code?: unknown }).code !== 'not_found') throw error
  const { lost = [] } = await at.get('/wip')
  if (lost.length > 0) throw error
  return null
}

function sayNothing(out: Output, at: SessionClient): void {
  const none = { into: null, branch: null, commit: null, base: null, files: 0, unpushed_commits: 0, notes: [] }
  if (out.json) return out.document({ session_id: at.id, ...none })
  out.line('There is nothing to recover: the session changed nothing, or pushed everything.')
}

async function intoClone(
  ctx: Context,
  at: SessionClient,
  { branch = null, start }: { branch?: string | null | undefined; start?: number | undefined },
): Promise<void> {
  const { out } = ctx
  const top = await repositoryHere(ctx)
  const isOwn = ctx.io.env.SVC_SESSION_ID === at.id
  const saved = await choose(ctx, at, { isOwn, start })
  if (saved === null) return sayNothing(out, at)
  const work = { top, commit: saved.commit, again: `svc sessions recover ${at.id.slice(0, 8)}` }
  // In its own sandbox the agent may be working, so only require that it overwrites nothing unsaved.
  if (branch === null && !isOwn) await requireClean(ctx, work)
  if (!(await hasCommit(ctx, top, saved.commit))) await fetchBundle(ctx, at, { top, saved })
  let changed = saved.files
  if (branch !== null) await branchWork(ctx, work, branch)
  else {
    if (isOwn && saved.base !== null) await takeCommits(ctx, work, saved.base)
    changed = await applyWork(ctx, work)
  }
  if (isOwn) await at.post('/wip/recovered', { body: { commit: saved.commit } })
  if (out.json)
    return out.document({
      session_id: at.id,
      into: branch === null ? 'work tree' : 'branch',
      branch,
      commit: saved.commit,
      base: saved.base,
      files: changed,
      unpushed_commits: saved.unpushed_commits,
      notes: saved.notes,
    })
  if (branch === null)
    out.line(green('✓ '), `${count(changed, 'file')} changed here, as saved `, out.time(saved.saved_at))
  else out.line(green('✓ '), 'The work is on ', bold(branch), `, ${count(changed, 'file')} in its last commit`)
  if (branch === null && !isOwn && saved.unpushed_commits > 0)
    out.note(`This includes ${saved.unpushed_commits} unpushed commits; --branch <name> keeps them as commits.`)
  for (const note of saved.notes) out.warn(note)
  out.note(branch === null ? 'Nothing was committed: git status' : `git diff ${branch}~1 ${branch}`)
}

/** Saves a running session first. Inside its own sandbox it takes the work of an earlier start instead. Null: there is none. */
async function choose(
  ctx: Context,
  at: SessionClient,
  { isOwn, start }: { isOwn: boolean; start: number | undefined },
): Promise<Saved | null> {
  if (!isOwn) await at.post('/wip').catch(notRunning)
  const wip: UnfinishedWork = await at.get('/wip')
  const { earlier, saved_at, commit, generation, ...rest } = wip
  const newest: Saved[] =
    saved_at === null || commit === null || generation === null ? [] : [{ ...rest, saved_at, commit, generation }]
  const mine = isOwn ? Number(ctx.io.env.SVC_SANDBOX_GENERATION) : null
  const all = [...newest, ...earlier].filter((each) => each.generation !== mine)
  const gone = wip.lost?.find((each) => start === undefined || each.generation === start)
  if (gone !== undefined && (start !== undefined || all.length === 0)) throw lostWork(ctx.out, gone)
  if (start === undefined) return all[0] ?? null
  const found = all.find((each) => each.generation === start)
  if (found !== undefined) return found
  const saved = all.length === 0 ? 'none' : all.map((each) => each.generation).join(', ')
  throw new Refusal('not_found', `No work of start ${start} is saved`, { hint: `Saved starts: ${saved}.` })
}

function lostWork(out: Output, { saved_at }: { saved_at: string }): Refusal {
  return new Refusal('not_found', `The work saved ${out.time(saved_at)} is lost`, {
    hint: 'The repository of the project does not have it any more. Its operator may have it in a backup.',
  })
}

/** Falls back to work saved earlier; throws if none exists. */
function notRunning(error: unknown): void {
  const { code } = error as { code?: unknown }
  if (code !== 'conflict' && code !== 'unavailable' && code !== 'forbidden') throw error
}

async function fetchBundle(
  ctx: Context,
  at: SessionClient,
  { top, saved }: { top: string; saved: Saved },
): Promise<void> {
  const place = await mkdtemp(join(tmpdir(), 'svc-bundle-'))
  try {
    ctx.out.passing(`fetching ${unfinishedLabel(saved)}…`)
    const query = { have: (await commitsHere(ctx, top)).join(','), generation: saved.generation }
    const stream = await at.stream('/wip/bundle', { query })
    const file = join(place, 'work.bundle')
    await Bun.write(file, new Response(stream))
    await git(top, ['bundle', 'unbundle', file], ctx.io.env, { signal: ctx.io.signal })
    ctx.out.clearPassing()
    if (!(await hasCommit(ctx, top, saved.commit)))
      throw new Refusal('bad_answer', 'The downloaded bundle lacks the saved work', { hint: 'Try again.' })
  } finally {
    await rm(place, { recursive: true, force: true })
  }
}
