import type { Trigger, TriggerSlot } from '@svc/contract/routes/triggers'

export const aTrigger = (changes: Partial<Trigger> = {}): Trigger => ({
  ...{ slug: 'nightly', type: 'cron', enabled: true, cron: '0 3 * * *', timezone: 'UTC', run_at: null },
  schedule: 'At 03:00',
  ...{ name: 'nightly', agent: null, model: null, prompt: 'Go.', prompt_template: 'Go.' },
  ...{ secret_env: null, webhook_url: null },
  ...{ last_fired_at: '2026-11-21T11:00:00.000Z', next_fire_at: '2026-11-22T03:00:00.000Z' },
  next_fire_times: ['2026-11-22T03:00:00.000Z', '2026-11-23T03:00:00.000Z', '2026-11-24T03:00:00.000Z'],
  ...changes,
})

export const aSlot: TriggerSlot = {
  ...{ slot_id: '77777777-7777-4777-8777-777777777777', kind: 'cron', status: 'fired' },
  ...{ due_at: '2026-11-21T11:00:00.000Z', fired_at: '2026-11-21T11:00:00.000Z' },
  ...{ session_id: '44444444-4444-4444-8444-444444444444', reason: null, caught_up: false },
  created_at: '2026-11-21T11:00:00.000Z',
}
