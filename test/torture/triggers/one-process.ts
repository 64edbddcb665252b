/**
 * Three servers share one trigger ledger while their clocks run, jump and disagree, and while they die at each step of a
 * firing.
 */
import { randomUUID } from 'node:crypto'
import { slotsAfter } from '@svc/contract'
import { commit } from '../../../packages/git/src/testing.ts'
import type { Deps } from '../../../packages/server/src/deps.ts'
import { armFailpoints, FailpointError } from '../../../packages/server/src/failpoint.ts'
import { detectDefaultBranch } from '../../../packages/server/src/projects/default-branch.ts'
import { getProject } from '../../../packages/server/src/projects/store.ts'
import { insertInstance } from '../../../packages/server/src/scheduler/instance-store.ts'
import { makeTestApp } from '../../../packages/server/src/test-app.ts'
import { fireDueTriggers } from '../../../packages/server/src/triggers/fire-due.ts'
import { fireOrphanedSlots } from '../../../packages/server/src/triggers/fire.ts'
import { reconcileTriggers } from '../../../packages/server/src/triggers/reconcile.ts'
import { randomFrom } from '../random.ts'
import { pointsOf } from '../scenarios.ts'

export interface TickReport {
  ticks: number
  deaths: Record<string, number>
  slots: Record<string, number>
  sessions: number
  problems: string[]
}

/** Across the clock change in Berlin; the large jumps soon reach New York's autumn. */
const start = Date.parse('2026-03-28T22:00:00Z')
const schedules = [
  { slug: 'often', cron: '*/7 * * * *', timezone: 'UTC', run_at: null },
  { slug: 'skipped-hour', cron: '30 2 * * *', timezone: 'Europe/Berlin', run_at: null },
  { slug: 'twice-hour', cron: '30 */1 * * *', timezone: 'America/New_York', run_at: null },
  { slug: 'half-hour', cron: '15 45 1 * * *', timezone: 'Australia/Lord_Howe', run_at: null },
]
const manifest = schedules
  .map(({ slug, cron, timezone }) =>
    [
      '[[triggers]]',
      `slug = "${slug}"`,
      'type = "cron"',
      `cron = "${cron}"`,
      `timezone = "${timezone}"`,
      'prompt = "Go."',
      '',
    ].join('\n'),
  )
  .join('\n')

export async function tickTriggers(options: { ticks: number; seed: number }): Promise<TickReport> {
  const random = randomFrom(options.seed)
  const clock = { now: start, latest: start }
  const app = await makeTestApp({ now: () => new Date(clock.now) })
  const deaths: Record<string, number> = {}
  try {
    const { project, repo } = await app.managedProject()
    await commit(repo, 'main', { 'svc.toml': manifest })
    await detectDefaultBranch(app.deps, (await getProject(app.deps.db, project.project_id))!)
    await reconcileTriggers(app.deps)
    const servers = [app, await app.anotherServer(), await app.anotherServer()].map(({ deps }) => ({
      deps,
      skewMs: Math.floor(random() * 3_000),
    }))
    for (let tick = 0; tick < options.ticks; tick++) {
      clock.now = Math.max(start, clock.now + step(random))
      const looking = servers.filter(() => random() < 0.7)
      const points = pointsOf('triggers')
      const point = random() < 0.5 ? points[Math.floor(random() * points.length)]! : null
      armFailpoints(point === null ? [] : [{ name: point, action: { kind: 'throw' }, at: 1 }])
      await Promise.all(
        looking.map(async (server) => {
          const now = clock.now + server.skewMs
          clock.latest = Math.max(clock.latest, now)
          if (await dies({ ...server.deps, now: () => new Date(now) })) {
            deaths[point ?? 'none'] = (deaths[point ?? 'none'] ?? 0) + 1
            server.deps = await reborn(server.deps)
          }
        }),
      )
    }
    armFailpoints([])
    await settle(app.deps)
    const found = await look(app.deps, { projectId: project.project_id, until: clock.latest })
    return { ticks: options.ticks, deaths, ...found }
  } finally {
    armFailpoints([])
    await app.close()
  }
}

/** Mostly forward, sometimes by hours or months, sometimes back. */
function step(random: () => number): number {
  const dice = random()
  if (dice < 0.002) return 30 * 24 * 3_600_000
  if (dice < 0.02) return 3 * 3_600_000
  if (dice < 0.06) return -Math.floor(random() * 1_800_000)
  return Math.floor(random() * 60_000)
}

/** True when a failpoint ended the poll, as a death there would: nothing after it happened. */
async function dies(deps: Deps): Promise<boolean> {
  const signal = new AbortController().signal
  try {
    await fireDueTriggers(deps, signal)
    await fireOrphanedSlots(deps, signal)
    return false
  } catch (error) {
    if (error instanceof FailpointError) return true
    throw error
  }
}

async function reborn(deps: Deps): Promise<Deps> {
  await deps.db.deleteFrom('server_instances').where('instance_id', '=', deps.instanceId).execute()
  const next = { ...deps, instanceId: randomUUID() }
  await insertInstance(next.db, next.instanceId)
  return next
}

/** A server takes over from a dead one after a while; here a minute has passed. */
async function settle(deps: Deps): Promise<void> {
  for (let round = 0; round < 50; round++) {
    const left = await deps.db
      .updateTable('trigger_slots')
      .set({ claimed_at: new Date(Date.now() - 300_000) })
      .where('status', '=', 'claimed')
      .returning('slot_id')
      .execute()
    if (left.length === 0) return
    await fireDueTriggers(deps, new AbortController().signal)
    await fireOrphanedSlots(deps, new AbortController().signal)
  }
}

async function look(deps: Deps, { projectId, until }: { projectId: string; until: number }) {
  const problems: string[] = []
  const slots = await deps.db.selectFrom('trigger_slots').selectAll().where('project_id', '=', projectId).execute()
  const sessions = await deps.db
    .selectFrom('project_sessions')
    .select(['session_id', 'metadata'])
    .where('project_id', '=', projectId)
    .execute()
  const triggers = await deps.db.selectFrom('triggers').selectAll().where('project_id', '=', projectId).execute()
  const slotOf = (session: (typeof sessions)[number]) =>
    (session.metadata as { trigger?: { slot_id?: string } }).trigger?.slot_id
  for (const schedule of schedules) {
    const due = allSlots(schedule, until)
    const rows = slots.filter(({ slug }) => slug === schedule.slug)
    const times = new Set(rows.map(({ due_at }) => due_at))
    if (times.size !== rows.length) problems.push(`${schedule.slug}: a time has two rows`)
    const next = triggers.find(({ slug }) => slug === schedule.slug)?.next_due_at ?? null
    for (const time of due)
      if (!times.has(time) && (next === null || time < next)) problems.push(`${schedule.slug}: ${time} has no row`)
    for (const time of times) if (!due.includes(time)) problems.push(`${schedule.slug}: ${time} was never due`)
    const fired = rows.flatMap(({ fired_at }) => (fired_at === null ? [] : [fired_at])).sort()
    const said = triggers.find(({ slug }) => slug === schedule.slug)?.last_fired_at ?? null
    if (said !== (fired.at(-1) ?? null))
      problems.push(`${schedule.slug}: says it fired ${said}, and did ${fired.at(-1)}`)
  }
  for (const slot of slots) {
    const own = sessions.filter((session) => slotOf(session) === slot.slot_id)
    if (slot.status === 'claimed') problems.push(`${slot.slug} ${slot.due_at}: still claimed`)
    if (own.length !== (slot.status === 'fired' ? 1 : 0))
      problems.push(`${slot.slug} ${slot.due_at}: ${slot.status} with ${own.length} sessions`)
    if (slot.status === 'skipped' && slot.reason === null)
      problems.push(`${slot.slug} ${slot.due_at}: skipped for no reason`)
  }
  const count = (key: string) =>
    slots.filter(({ status, caught_up }) => (caught_up && status === 'fired' ? 'caught up' : status) === key).length
  return {
    problems,
    slots: { fired: count('fired'), 'caught up': count('caught up'), skipped: count('skipped') },
    sessions: sessions.length,
  }
}

function allSlots(schedule: (typeof schedules)[number], until: number): string[] {
  const times: string[] = []
  for (let after = new Date(start); ;) {
    const more = slotsAfter(schedule, after, 500).filter((slot) => slot.getTime() <= until)
    times.push(...more.map((slot) => slot.toISOString()))
    if (more.length < 500) return times
    after = more.at(-1)!
  }
}
