/** Shows one banner about the session as a whole: the most important one. */
import { count } from '@svc/contract/count'
import { useQuery } from '@tanstack/react-query'
import { Failure, useSend } from '../../components/requests.tsx'
import { useIsInstanceOwner } from '../../components/no-model.tsx'
import { Button } from '../../ui/form.tsx'
import { Notice } from '../../ui/layout.tsx'
import { Command, Time, withCode } from '../../ui/text.tsx'
import { type Message, pathOf, sandboxReadiness, type Session, type UnfinishedWork, unfinishedWork } from './queries.ts'

export function Banner({
  session,
  busy,
  last,
}: {
  session: Session
  busy: boolean
  /** The last message of the conversation, which says why its turn failed. */
  last: Message | undefined
}) {
  const { data: saved } = useQuery(unfinishedWork(session))
  const { status, error, last_turn_error: turnError, refresh } = session
  const isStarting = status === 'provisioning'
  const unfinished = unfinishedOf(session, saved)
  const recover = useSend('POST', '/v1/projects/{projectId}/sessions/{sessionId}/wip/recover', {
    path: pathOf(session),
    refetch: [['project', session.project_id, 'sessions']],
  })
  if (status === 'failed') return <Failed session={session} unfinished={unfinished} />
  if (unfinished !== null && !isStarting) return <Unfinished session={session} saved={unfinished} recover={recover} />
  if (session.branch_deleted_at != null && status === 'stopped')
    return <BranchDeleted session={session} at={session.branch_deleted_at} />
  const lost = newestLost(saved)
  if (lost !== null && !isStarting) return <LostWork work={lost} />
  if (error !== null) return <Ended error={error} />
  const isPending = refresh !== null && (refresh.status !== 'done' || refresh.needs_restart.length > 0)
  if (status === 'running' && isPending) return <Refreshed refresh={refresh} />
  if (turnError !== null && last?.error == null && !busy && !isStarting)
    return (
      <Notice title="The last turn failed">
        {withCode(turnError.message)} (<Time at={turnError.at} />)
      </Notice>
    )
  if (recover.isSuccess && status === 'running') return <Restored />
  return status === 'running' && refresh !== null ? <Refreshed refresh={refresh} /> : null
}

function Ended({ error }: { error: string }) {
  const [reason, details] = reasonOf(error)
  return (
    <Notice tone="neutral" title={reason ?? error}>
      {details === '' ? null : <Details>{details}</Details>}
    </Notice>
  )
}

function Restored() {
  return (
    <p role="status" className="text-sm text-dim">
      Restored the saved work. It is in the work tree of this session.
    </p>
  )
}

function BranchDeleted({ session, at }: { session: Session; at: string }) {
  return (
    <Notice tone="neutral" title="The branch of this session was merged, then deleted">
      {session.error !== null && <p>{withCode(session.error)}</p>}
      <p>
        Deleted <Time at={at} />. Restart the session or send a prompt. It starts again from {session.base_ref}, which
        has the merged work.
      </p>
    </Notice>
  )
}

type Recovery = ReturnType<typeof useSend>
type Saved = NonNullable<ReturnType<typeof unfinishedOf>>

/** A running session that was not restarted still has the saved work in its work tree. */
export function unfinishedOf(session: Session, saved: UnfinishedWork | undefined) {
  const { status, sandbox } = session
  if (saved === undefined || saved.saved_at === null || isStillApplied(session, saved)) return null
  return status === 'running' && saved.generation === sandbox?.generation
    ? null
    : { ...saved, saved_at: saved.saved_at }
}

/** The work of the session that this one continues, or that of a lost server, is put into the work tree by the server, and counts as saved here a moment later. */
const applyMs = 60_000

function isStillApplied({ status, sandbox, created_at: at }: Session, saved: UnfinishedWork): boolean {
  if (status === 'running' && saved.returns === true) return true
  return saved.generation === 0 && sandbox?.generation === 1 && Date.now() - Date.parse(at) < applyMs
}

type Lost = NonNullable<UnfinishedWork['lost']>[number]

/** Null as soon as newer work is saved. */
function newestLost(saved: UnfinishedWork | undefined): Lost | null {
  const newest = saved?.lost?.[0]
  return newest === undefined || (saved?.saved_at ?? '') > newest.saved_at ? null : newest
}

function LostWork({ work }: { work: Lost }) {
  return (
    <Notice tone="warn" title={`Saved work is lost: ${amountOf(work)}`}>
      <p>
        Saved <Time at={work.saved_at} />. The repository of the project does not have it any more, as after a restore
        of an older backup. The operator of this server may have it in another backup.
      </p>
    </Notice>
  )
}

/** Why, in one sentence; what else is known; and what to do next. The bar has the button for it. */
function Failed({ session, unfinished }: { session: Session; unfinished: Saved | null }) {
  const { data: sandbox, isPending } = useQuery(sandboxReadiness)
  const [reason, details] = reasonOf(session.error)
  if (isPending) return null
  if (sandbox?.driver === 'none') return <NoSandboxes error={session.error} problem={sandbox.problem} />
  return (
    <Notice tone="bad" title={reason ?? 'The session failed'}>
      <Details>{details}</Details>
      <p>
        Restart it or send a prompt to start again from{' '}
        {session.branch_deleted_at == null ? 'its branch' : `${session.base_ref}, since its merged branch was deleted`}.
        {unfinished !== null && ` ${amountOf(unfinished)} saved: restore the work after the restart.`}
      </p>
    </Notice>
  )
}

/** The reason of the service, as its first sentence and the rest. */
function reasonOf(error: string | null): [reason: string | null, details: string] {
  const [reason, ...details] = error?.split(/(?<=[.!?]) +/) ?? []
  return [reason ?? null, details.join(' ')]
}

function Details({ children }: { children: string }) {
  return children === '' ? null : <p className="line-clamp-4 wrap-anywhere text-dim">{withCode(children)}</p>
}

/** No restart can work. Only the operator can do something about it, so only they read the setting that the reason names. */
function NoSandboxes({ error, problem }: { error: string | null; problem: string | null }) {
  const isOperator = useIsInstanceOwner()
  return (
    <Notice tone="bad" title={(isOperator ? error : problem) ?? 'This server has no sandboxes.'}>
      {!isOperator && 'Sessions start once its operator configures one.'}
    </Notice>
  )
}

export function amountOf({ files, unpushed_commits: commits }: { files: number; unpushed_commits: number }): string {
  const parts = files > 0 || commits === 0 ? [count(files, 'file')] : []
  if (commits > 0) parts.push(count(commits, 'unpushed commit'))
  return parts.join(' and ')
}

function Unfinished({ session, saved, recover }: { session: Session; saved: Saved; recover: Recovery }) {
  const isRunning = session.status === 'running'
  return (
    <Notice
      tone="warn"
      title={`Unfinished work saved: ${amountOf(saved)}`}
      action={isRunning && <Button action={recover}>Restore work</Button>}
    >
      <p>
        Saved <Time at={saved.saved_at} />, but not on any branch.{' '}
        {isRunning
          ? 'Restore it into the work tree of this session.'
          : saved.returns === true
            ? 'The next start puts it back into the work tree.'
            : 'Restart the session to restore it there.'}
      </p>
      <Details>{session.error ?? ''}</Details>
      <details className="mt-1">
        <summary className="cursor-pointer">Get it into your clone</summary>
        <div className="mt-1">
          <Command>{`svc sessions recover ${session.session_id.slice(0, 8)}`}</Command>
        </div>
      </details>
      {recover.isError && <Failure error={recover.error} />}
    </Notice>
  )
}

function Refreshed({ refresh }: { refresh: NonNullable<Session['refresh']> }) {
  const { status, error, needs_restart: needsRestart, applied, settled_at: settledAt } = refresh
  if (status === 'waiting')
    return <Notice tone="neutral" title={error ?? "The refresh starts when the agent's turn ends."} />
  if (status === 'failed') return <Notice tone="bad" title={error ?? 'The refresh failed.'} />
  if (needsRestart.length > 0)
    return (
      <Notice tone="warn" title="Restart the session to apply the rest of svc.toml">
        <p>{needsRestart.join(', ')}</p>
        {error !== null && <p>{withCode(error)}</p>}
      </Notice>
    )
  if (error !== null) return <Notice tone="warn" title={error} />
  if (applied.length === 0 || settledAt === null) return null
  return (
    <p className="text-sm text-dim">
      Refreshed <Time at={settledAt} />: {applied.join(', ')}
    </p>
  )
}
