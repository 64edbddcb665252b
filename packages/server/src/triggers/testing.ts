import { type Project, type Trigger, type TriggerSlot } from '@svc/contract'
import { commit } from '@svc/git/testing'
import { sql } from 'kysely'
import { pollRequested } from '../change-requests/preview/detect.ts'
import { makeSessionApp } from '../sessions/testing.ts'
import { projectPath } from '../test-app.ts'
import { reconcileTriggers } from './reconcile.ts'

export type TriggerApp = Awaited<ReturnType<typeof makeTriggerApp>>

export const startOfTests = Date.parse('2026-03-01T12:00:00Z')

export async function makeTriggerApp(options: Parameters<typeof makeSessionApp>[0] = {}) {
  const clock = { now: startOfTests }
  const app = await makeSessionApp({ ...options, deps: { now: () => new Date(clock.now), ...options.deps } })
  const { project_id }: Project = app.project
  /** The path of the triggers of the project, of one trigger, or of an action on one. */
  const of = (slug?: string, verb?: string) => projectPath(app.project, 'triggers', slug, verb)
  const look = async () => {
    await sql`update project_looks set wanted_at = clock_timestamp()`.execute(app.deps.db)
    await pollRequested(app.deps, new AbortController().signal)
    await reconcileTriggers(app.deps)
  }
  return {
    ...app,
    clock,
    of,
    look,
    /** Commits a manifest to the default branch and runs the jobs. */
    async manifest(text: string) {
      await commit(app.repo, 'main', { 'svc.toml': text })
      await look()
    },
    trigger: async (slug: string) => (await app.request<Trigger & { slots: TriggerSlot[] }>('GET', of(slug))).body,
    /** Makes the ledger show exactly that many requests within the last minute. Needs one earlier request. */
    async askedLately(slug: string, kind: 'manual' | 'webhook', count: number) {
      await sql`update trigger_slots set created_at = now() - interval '2 minutes'
        where project_id = ${project_id} and kind = ${kind}`.execute(app.deps.db)
      await sql`insert into trigger_slots
        select (jsonb_populate_record(one, jsonb_build_object('slot_id', gen_random_uuid(), 'slot_key', gen_random_uuid(),
          'planned_session_id', gen_random_uuid(), 'session_id', null, 'created_at', now()))).*
        from trigger_slots one, generate_series(1, ${count}::integer)
        where one.slot_id = (select slot_id from trigger_slots
          where project_id = ${project_id} and slug = ${slug} and kind = ${kind} limit 1)`.execute(app.deps.db)
    },
  }
}

export const cronTrigger = (slug: string, cron: string, more = '') =>
  `[[triggers]]\nslug = "${slug}"\ntype = "cron"\ncron = "${cron}"\nprompt = "Work of {{ slug }}, due {{ due_at }}."\n${more}\n`

export const hookTrigger = (slug: string, more = '') =>
  `[[triggers]]\nslug = "${slug}"\ntype = "webhook"\nsecret_env = "HOOK_SECRET"\nprompt = "See {{ payload.title }}"\n${more}\n`
