import {
  disableTriggerRoute,
  enableTriggerRoute,
  fireTriggerRoute,
  getTriggerRoute,
  listTriggersRoute,
} from '@svc/contract'
import { notFound } from '../auth/allow.ts'
import { controlledOf } from '../auth/session-control.ts'
import type { Deps } from '../deps.ts'
import { handle, type Input, type Mounted } from '../http/mount.ts'
import { fireByHand } from './fire-on-request.ts'
import { refreshTriggers, triggersOf } from './read.ts'
import { getTrigger, newestSlots, presentSlot, presentTrigger } from './store.ts'
import { switchTrigger } from './switch.ts'

const slotsShown = 50

export function triggerRoutes(deps: Deps): Mounted[] {
  const switchTo =
    (enabled: boolean) =>
    async ({ project, params, caller, request }: Input<typeof enableTriggerRoute>) => {
      const { resourceId: crId, signal } = request
      return switchTrigger(deps, { project, caller, slug: params.slug, enabled, crId, signal })
    }
  return [
    handle(listTriggersRoute, async ({ project, request }) => {
      const { rows, errors } = await triggersOf(deps, project, request.signal)
      return { triggers: rows.map((row) => presentTrigger(deps.config, row)), errors }
    }),
    handle(getTriggerRoute, async ({ project, params, caller, request }) => {
      await refreshTriggers(deps, project, request.signal)
      const row = await getTrigger(deps.db, project.project_id, params.slug)
      if (row === null) throw notFound('trigger')
      const slots = await newestSlots(deps.db, project.project_id, row.slug, slotsShown)
      const sessionIds = slots.flatMap(({ session_id }) => session_id ?? [])
      const isControlled = await controlledOf(deps.db, caller.actor, sessionIds)
      return {
        ...presentTrigger(deps.config, row),
        slots: slots.map((slot) => presentSlot(slot, isControlled(slot.session_id ?? ''))),
      }
    }),
    handle(fireTriggerRoute, async ({ project, params, caller, body, request }) => {
      await refreshTriggers(deps, project, request.signal)
      const message = body?.message || null
      const fire = { project, slug: params.slug, caller, requestKey: request.resourceId, message }
      const session_id = await fireByHand(deps, fire)
      return { session_id, status: 'fired' as const }
    }),
    handle(enableTriggerRoute, switchTo(true)),
    handle(disableTriggerRoute, switchTo(false)),
  ]
}
