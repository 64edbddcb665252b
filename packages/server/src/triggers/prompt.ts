import { fillPrompt } from '@svc/contract'
import type { TriggerRow } from './store.ts'

/** The prompt of a slot. A manual fire is due at once. */
export function promptOf(
  trigger: Pick<TriggerRow, 'slug' | 'definition'>,
  slot: { dueAt: Date; firedAt: Date; message?: string | null; payload?: unknown; headers?: Record<string, string> },
): string {
  const { prompt, type, cron, run_at, timezone } = trigger.definition
  const times = { due_at: slot.dueAt.toISOString(), fired_at: slot.firedAt.toISOString() }
  return fillPrompt(prompt, {
    slug: trigger.slug,
    ...times,
    message: slot.message ?? null,
    payload: slot.payload,
    headers: slot.headers ?? {},
    cron: type === 'cron' ? { name: trigger.slug, expression: cron ?? run_at ?? '', timezone, ...times } : null,
  })
}
