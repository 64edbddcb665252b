/** A card for each change request that a channel is told of, kept as the change request is. */
import type { ChangeRequestStatus } from '@svc/contract'
import { channelEvents } from '@svc/contract'
import { diffCommits, previewMerge } from '@svc/git'
import { commitPair } from '../change-requests/commit-pair.ts'
import { refreshTips } from '../change-requests/refresh-tips.ts'
import { type ChangeRequestRow, getChangeRequests } from '../change-requests/store.ts'
import type { Deps } from '../deps.ts'
import { getDefaultBranch } from '../projects/default-branch.ts'
import { getProject, type ProjectRow } from '../projects/store.ts'
import { type CardCandidate, cardCandidates, channelsToLookAt, keepCard } from './card-store.ts'
import type { CardFacts, Message, Part, Word } from './message.ts'
import { getMessage, want } from './outbox-store.ts'
import type { ChannelRow } from './store.ts'
import { mergeValueOf } from './take.ts'

type CardDeps = Pick<Deps, 'db' | 'config' | 'keyring' | 'redaction' | 'now' | 'newId' | 'log'>

/** A managed repository is read from disk; another costs its host a request. */
const everySeconds = { managed: 2, external: 20 }

/** The job. Reads the rows and the branches' tips themselves, so that a push from outside and a restart are the same to it. */
export async function tellChangeRequests(deps: CardDeps, signal: AbortSignal): Promise<void> {
  for (const channel of await channelsToLookAt(deps.db, everySeconds)) {
    if (signal.aborted) return
    await lookAt(deps, channel, signal).catch((error: unknown) =>
      deps.log.warn({ err: error, channel_id: channel.channel_id }, 'cards could not be drawn; they are tried again'),
    )
  }
}

async function lookAt(deps: CardDeps, channel: ChannelRow, signal: AbortSignal): Promise<void> {
  const project = await getProject(deps.db, channel.project_id)
  if (project === null) return
  const events = await eventsOf(deps, channel)
  const candidates = await cardCandidates(deps.db, channel, { wholeProject: events.size > 0 })
  if (candidates.length === 0) return
  const rows = await getChangeRequests(
    deps.db,
    project.project_id,
    candidates.map(({ cr_id }) => cr_id),
  )
  const fresh = new Map((await refreshTips(deps, project, rows)).map((row) => [row.cr_id, row]))
  // Oldest first, as they came to be.
  for (const candidate of candidates.toReversed()) {
    const cr = fresh.get(candidate.cr_id)
    if (cr !== undefined && !signal.aborted) await draw(deps, { channel, project, events, candidate, cr, signal })
  }
}

type EventName = (typeof channelEvents)[number]

/** Of the whole project; those of the channel's own sessions are told in any case. */
async function eventsOf(deps: Pick<Deps, 'db'>, channel: ChannelRow): Promise<Set<EventName>> {
  const seen = await getDefaultBranch(deps.db, channel.project_id)
  const wanted = seen?.manifest.channels.find(({ platform }) => platform === channel.platform)?.events ?? []
  const fits = (name: string, pattern: string) =>
    pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern
  return new Set(channelEvents.filter((name) => wanted.some((pattern) => fits(name, pattern))))
}

interface Drawing {
  channel: ChannelRow
  project: ProjectRow
  events: Set<EventName>
  candidate: CardCandidate
  cr: ChangeRequestRow
  signal: AbortSignal
}

async function draw(deps: CardDeps, drawing: Drawing): Promise<void> {
  const { channel, cr, candidate } = drawing
  const compared = `${cr.base_commit_sha} ${cr.head_commit_sha}`
  const state = JSON.stringify([cr.status, compared, cr.title, cr.base_ref, cr.head_ref, cr.merge_commit_sha])
  if (candidate.told === state) return
  const known = candidate.compared === compared ? candidate.facts : null
  const facts = known ?? (await compare(deps, drawing))
  const key = `card ${cr.cr_id}`
  const isThere = (await getMessage(deps.db, channel.channel_id, key)) !== null
  const before = candidate.facts?.conflicts ?? 0
  await deps.db.transaction().execute(async (trx) => {
    if (isThere || candidate.thread_key !== null || isAskedFor(drawing, facts)) {
      const thread = candidate.thread_key
      await want(trx, {
        message_id: deps.newId(),
        channel_id: channel.channel_id,
        message_key: key,
        kind: 'card',
        thread_key: thread ?? key,
        thread_id: thread,
        body: cardOf(deps, drawing, facts),
      })
      const became = cr.status === 'open' && (facts?.conflicts ?? 0) > 0 && before === 0 && isThere
      // An edit tells nobody; that a card became one that cannot be merged is worth a word.
      if (became && thread !== null)
        await want(trx, {
          message_id: deps.newId(),
          channel_id: channel.channel_id,
          message_key: `${key} conflicted ${compared}`,
          kind: 'reply',
          thread_key: thread,
          thread_id: thread,
          body: conflictWord(cr),
        })
    }
    // What could not be compared now is compared at the next look.
    const told = facts === null && cr.status === 'open' ? null : state
    await keepCard(trx, { channel_id: channel.channel_id, cr_id: cr.cr_id, compared, facts, told })
  })
}

function isAskedFor({ channel, cr, events }: Drawing, facts: CardFacts | null): boolean {
  const isNew = Date.parse(cr.created_at) >= Date.parse(channel.created_at)
  if (cr.status === 'open' && (facts?.conflicts ?? 0) > 0 && events.has('change_request.conflicted')) return true
  const of = {
    open: 'change_request.opened',
    merged: 'change_request.merged',
    closed: 'change_request.closed',
  } as const
  return events.has(of[cr.status]) && (cr.status !== 'open' || isNew)
}

/** Null when the repository does not answer: a card without numbers is better than none. */
async function compare(deps: CardDeps, { project, cr, signal }: Drawing): Promise<CardFacts | null> {
  try {
    const { repository, baseSha, headSha } = await commitPair(deps, { project, cr, signal })
    const diff = await diffCommits(repository, { baseSha, headSha, renames: false }, { signal })
    const conflicts =
      cr.status === 'open' ? (await previewMerge(repository, { baseSha, headSha }, { signal })).conflicts.length : 0
    return { additions: diff.additions, deletions: diff.deletions, files: diff.files_changed, conflicts }
  } catch (error) {
    deps.log.debug({ err: error, cr_id: cr.cr_id }, 'a card is drawn without its numbers')
    return null
  }
}

const statusWord: Record<ChangeRequestStatus, string> = { open: 'open', merged: 'merged', closed: 'closed' }

function cardOf(deps: Pick<Deps, 'config'>, { project, cr }: Drawing, facts: CardFacts | null): Message {
  const url = `${deps.config.publicUrl}/projects/${project.slug}/change-requests/${cr.number}`
  const conflicts = cr.status === 'open' ? (facts?.conflicts ?? 0) : 0
  const state = conflicts > 0 ? `conflicts in ${conflicts} file${conflicts === 1 ? '' : 's'}` : statusWord[cr.status]
  const counts: Word[] =
    facts === null
      ? []
      : [` · +${facts.additions} −${facts.deletions} in ${facts.files} file${facts.files === 1 ? '' : 's'}`]
  const head = cr.head_commit_sha
  const parts: Part[] = [
    { kind: 'line', words: [{ link: url, text: `#${cr.number} ${cr.title}` }] },
    { kind: 'line', words: [{ code: cr.head_ref }, ' → ', { code: cr.base_ref }, ' · ', { bold: state }, ...counts] },
  ]
  if (cr.status === 'merged' && cr.merge_commit_sha !== null)
    parts.push({ kind: 'note', words: ['merged as ', { code: cr.merge_commit_sha.slice(0, 7) }] })
  if (cr.status === 'open' && head !== null) parts.push({ kind: 'note', words: ['head ', { code: head.slice(0, 7) }] })
  const open = { kind: 'link' as const, label: 'Review', url }
  const canTry = cr.status === 'open' && head !== null && conflicts === 0
  parts.push({ kind: 'buttons', buttons: canTry ? [mergeButton(cr, head), open] : [open] })
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

function conflictWord(cr: ChangeRequestRow): Message {
  return {
    summary: `#${cr.number} conflicts with ${cr.base_ref}`,
    parts: [
      {
        kind: 'line',
        words: [
          `#${cr.number} `,
          { bold: 'conflicts' },
          ' with ',
          { code: cr.base_ref },
          '. Ask the agent here to resolve it.',
        ],
      },
    ],
  }
}
