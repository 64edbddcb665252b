/** Posts a card for each change request a channel subscribes to, and updates it. */
import { channelEvents } from '@svc/contract'
import { count } from '@svc/contract/count'
import { diffCommits, previewMerge } from '@svc/git'
import { commitPair } from '../../change-requests/preview/commit-pair.ts'
import { refreshTips } from '../../change-requests/open/refresh-tips.ts'
import { type ChangeRequestRow, getChangeRequests } from '../../change-requests/store.ts'
import type { Deps } from '../../deps.ts'
import { getDefaultBranch } from '../../projects/default-branch.ts'
import { getProject, type ProjectRow } from '../../projects/store.ts'
import { type CardCandidate, cardCandidates, channelsToPoll, saveCard } from './card-store.ts'
import { type CardFacts, line, type Message, type Part, type Word } from '../outbox/message.ts'
import { enqueueMessage, getMessage } from '../outbox/outbox-store.ts'
import type { ChannelRow } from '../store.ts'
import { mergeValueOf } from '../ingress/ingest.ts'

type CardDeps = Pick<Deps, 'db' | 'home' | 'config' | 'keyring' | 'redaction' | 'now' | 'newId' | 'log'>

/** Polling a managed repository reads the disk; polling an external one sends its host a request. */
const managedSeconds = 2
const externalSeconds = 20

/**
 * The job. It compares rows and live branch tips, so it also sees external pushes and survives restarts. Returns when cards
 * without their numbers are tried again.
 */
export async function postChangeRequestUpdates(
  deps: CardDeps,
  signal: AbortSignal,
  changed: ReadonlySet<string> | 'all' = 'all',
): Promise<number | null> {
  let isDone = true
  for (const channel of await channelsToPoll(deps.db, { changed, managedSeconds, externalSeconds, home: deps.home })) {
    if (signal.aborted) return null
    const isPosted = await updateCards(deps, channel, signal).catch((error: unknown) => {
      deps.log.warn({ err: error, channel_id: channel.channel_id }, 'cards not updated; retrying')
      return false
    })
    isDone &&= isPosted
  }
  return isDone ? null : externalSeconds * 1000
}

/** False when a card has no numbers yet. */
async function updateCards(deps: CardDeps, channel: ChannelRow, signal: AbortSignal): Promise<boolean> {
  const project = await getProject(deps.db, channel.project_id)
  if (project === null) return true
  const events = await eventsOf(deps, channel)
  const candidates = await cardCandidates(deps.db, channel, { wholeProject: events.size > 0 })
  if (candidates.length === 0) return true
  const rows = await getChangeRequests(
    deps.db,
    project.project_id,
    candidates.map(({ cr_id }) => cr_id),
  )
  const fresh = new Map((await refreshTips(deps, project, rows)).map((row) => [row.cr_id, row]))
  // Oldest first, so that cards appear in the order of creation.
  let isDone = true
  for (const candidate of candidates.toReversed()) {
    const cr = fresh.get(candidate.cr_id)
    if (cr === undefined || signal.aborted) continue
    isDone = (await updateCard(deps, { channel, project, events, candidate, cr, signal })) && isDone
  }
  return isDone
}

type EventName = (typeof channelEvents)[number]

/** Events of the whole project. A channel always gets those of its own sessions. */
async function eventsOf(deps: Pick<Deps, 'db'>, channel: ChannelRow): Promise<Set<EventName>> {
  const seen = await getDefaultBranch(deps.db, channel.project_id)
  const wanted = seen?.manifest.channels.find(({ platform }) => platform === channel.platform)?.events ?? []
  const fits = (name: string, pattern: string) =>
    pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern
  return new Set(channelEvents.filter((name) => wanted.some((pattern) => fits(name, pattern))))
}

interface CardUpdate {
  channel: ChannelRow
  project: ProjectRow
  events: Set<EventName>
  candidate: CardCandidate
  cr: ChangeRequestRow
  signal: AbortSignal
}

async function updateCard(deps: CardDeps, update: CardUpdate): Promise<boolean> {
  const { channel, cr, candidate } = update
  const compared = `${cr.base_commit_sha} ${cr.head_commit_sha}`
  const state = JSON.stringify([cr.status, compared, cr.title, cr.base_ref, cr.head_ref, cr.merge_commit_sha])
  if (candidate.told === state) return true
  const known = candidate.compared === compared ? candidate.facts : null
  const facts = known ?? (await compare(deps, update))
  const key = `card ${cr.cr_id}`
  const isThere = (await getMessage(deps.db, channel.channel_id, key)) !== null
  const before = candidate.facts?.conflicts ?? 0
  return deps.db.transaction().execute(async (trx) => {
    if (isThere || candidate.thread_key !== null || isSubscribed(update, facts)) {
      const thread = candidate.thread_key
      await enqueueMessage(deps, trx, channel, {
        message_key: key,
        kind: 'card',
        thread_key: thread ?? key,
        thread_id: thread,
        body: cardOf(deps, update, facts),
      })
      const became = cr.status === 'open' && (facts?.conflicts ?? 0) > 0 && before === 0 && isThere
      // Slack does not notify about edits, so announce a new conflict with a message.
      if (became && thread !== null)
        await enqueueMessage(deps, trx, channel, {
          message_key: `${key} conflicted ${compared}`,
          kind: 'reply',
          thread_key: thread,
          body: conflictMessage(cr),
        })
    }
    // Without numbers, the next poll compares again.
    const told = facts === null && cr.status === 'open' ? null : state
    await saveCard(trx, { channel_id: channel.channel_id, cr_id: cr.cr_id, compared, facts, told })
    return told !== null
  })
}

function isSubscribed({ channel, cr, events }: CardUpdate, facts: CardFacts | null): boolean {
  const isNew = Date.parse(cr.created_at) >= Date.parse(channel.created_at)
  if (cr.status === 'open' && (facts?.conflicts ?? 0) > 0 && events.has('change_request.conflicted')) return true
  const of = {
    open: 'change_request.opened',
    merged: 'change_request.merged',
    closed: 'change_request.closed',
  } as const
  return events.has(of[cr.status]) && (cr.status !== 'open' || isNew)
}

/** Null when the repository is unavailable: a card without numbers is better than none. */
async function compare(deps: CardDeps, { project, cr, signal }: CardUpdate): Promise<CardFacts | null> {
  try {
    const { repository, baseSha, headSha } = await commitPair(deps, { project, cr, signal })
    const diff = await diffCommits(repository, { baseSha, headSha, renames: true }, { signal })
    const conflicts =
      cr.status === 'open' ? (await previewMerge(repository, { baseSha, headSha }, { signal })).conflicts.length : 0
    return { additions: diff.additions, deletions: diff.deletions, files: diff.files_changed, conflicts }
  } catch (error) {
    deps.log.debug({ err: error, cr_id: cr.cr_id }, 'card posted without its numbers')
    return null
  }
}

function cardOf(deps: Pick<Deps, 'config'>, { project, cr }: CardUpdate, facts: CardFacts | null): Message {
  const url = `${deps.config.publicUrl}/projects/${project.slug}/change-requests/${cr.number}`
  const conflicts = cr.status === 'open' ? (facts?.conflicts ?? 0) : 0
  const state = conflicts > 0 ? `conflicts in ${count(conflicts, 'file')}` : cr.status
  const counts: Word[] =
    facts === null ? [] : [` · +${facts.additions} −${facts.deletions} in ${count(facts.files, 'file')}`]
  const head = cr.head_commit_sha
  const parts: Part[] = [
    { kind: 'line', words: [{ link: url, text: `#${cr.number} ${cr.title}` }] },
    { kind: 'line', words: [{ code: cr.head_ref }, ' → ', { code: cr.base_ref }, ' · ', { bold: state }, ...counts] },
  ]
  if (cr.status === 'merged' && cr.merge_commit_sha !== null)
    parts.push({ kind: 'note', words: ['merged as ', { code: cr.merge_commit_sha.slice(0, 7) }] })
  if (cr.status === 'open' && head !== null) parts.push({ kind: 'note', words: ['head ', { code: head.slice(0, 7) }] })
  const open = { kind: 'link' as const, label: 'Review', url }
  const isMergeable = cr.status === 'open' && head !== null && conflicts === 0
  parts.push({ kind: 'buttons', buttons: isMergeable ? [mergeButton(cr, head), open] : [open] })
  return { summary: `#${cr.number} ${cr.title}: ${state}`, parts }
}

function mergeButton(cr: ChangeRequestRow, head: string) {
  return {
    kind: 'merge' as const,
    label: 'Merge',
    value: mergeValueOf(cr.cr_id, head),
    confirm: {
      title: `Merge #${cr.number}?`,
      text: `${cr.head_ref} at ${head.slice(0, 7)} into ${cr.base_ref}.`,
      yes: 'Merge',
    },
  }
}

function conflictMessage(cr: ChangeRequestRow): Message {
  const parts = [`#${cr.number} `, { bold: 'conflicts' }, ' with ', { code: cr.base_ref }]
  return {
    ...line(...parts, '. Ask the agent in this thread to resolve it.'),
    summary: `#${cr.number} conflicts with ${cr.base_ref}`,
  }
}
