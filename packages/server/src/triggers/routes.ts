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
import { handle, type Mounted } from '../http/mount.ts'
import { fireByHand } from './ask.ts'
import { bringUpToDate, triggersOf } from './read.ts'
import { getTrigger, newestSlots, presentSlot, presentTrigger } from './store.ts'
import { switchTrigger } from './switch.ts'

const slotsShown = 50

export function triggerRoutes(deps: Deps): Mounted[] {
  return [
    handle(listTriggersRoute, async ({ project, request }) => {
      const { rows, errors } = await triggersOf(deps, project, request.signal)
      return { triggers: rows.map((row) => presentTrigger(deps.config, row)), errors }
    }),
    handle(getTriggerRoute, async ({ project, params, caller, request }) => {
      await bringUpToDate(deps, project, request.signal)
      const row = await getTrigger(deps.db, project.project_id, params.slug)
      if (row === null) throw notFound('trigger')
      const slots = await newestSlots(deps.db, project.project_id, row.slug, slotsShown)
      const sessionIds = slots.flatMap(({ session_id }) => session_id ?? [])
      const tellsWhy = await controlledOf(deps.db, caller.actor, sessionIds)
      return {
        ...presentTrigger(deps.config, row),
        slots: slots.map((slot) => presentSlot(slot, tellsWhy(slot.session_id ?? ''))),
      }
    }),
    handle(fireTriggerRoute, async ({ project, params, caller, body, request }) => {
      await bringUpToDate(deps, project, request.signal)
      const message = body?.message || null
      return {
        session_id: await fireByHand(deps, {
          project,
          slug: params.slug,
          caller,
          requestKey: request.resourceId,
          message,
        }),
      }
    }),
    handle(enableTriggerRoute, async ({ project, params, caller, request }) =>
      switchTrigger(deps, {
        project,
        caller,
        slug: params.slug,
        enabled: true,
        crId: request.resourceId,
        signal: request.signal,
      }),
    ),
    handle(disableTriggerRoute, async ({ project, params, caller, request }) =>
      switchTrigger(deps, {
        project,
        caller,
        slug: params.slug,
        enabled: false,
        crId: request.resourceId,
        signal: request.signal,
      }),
    ),
  ]
}
