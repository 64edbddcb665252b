import type { Webhook, WebhookDelivery } from '@svc/sdk'
import type { Context } from '../../context.ts'
import { UsageError } from '../../errors.ts'
import { type Column, dim, green, type Output, red, type Styled, yellow } from '../../terminal/output.ts'
import { readStdin } from '../../terminal/read-stdin.ts'

export const eventsFlag = {
  kind: 'text',
  summary: "Event types, all of a noun ('session.*') or '*', separated by commas",
  value: 'types',
  names: 'event',
} as const

export const secretFlag = { kind: 'text', summary: '- reads your own secret from stdin', value: '-' } as const

export function eventsOf(text: string): string[] {
  return text
    .split(',')
    .map((each) => each.trim())
    .filter((each) => each !== '')
}

/** As an argument, it would be in the shell's history and in the process list. */
export async function secretOf(ctx: Context, from: string): Promise<string> {
  if (from !== '-')
    throw new UsageError('--secret accepts only -, which reads stdin', {
      hint: 'Without it, the server creates a secret.',
    })
  return (await readStdin(ctx.io, 'the secret')).trim()
}

export function stateOf({ state }: Pick<Webhook, 'state'>): Styled {
  return { active: green, retrying: yellow, paused: red }[state](state)
}

export function printWebhook(out: Output, webhook: Webhook): void {
  out.fields([
    ['url', webhook.url],
    ['events', webhook.events.join(', ')],
    ['state', stateOf(webhook)],
    ['why', webhook.reason],
    ['tries', webhook.attempts === 0 ? null : String(webhook.attempts)],
    ['next try', webhook.next_attempt_at === null ? null : out.time(webhook.next_attempt_at)],
    ['sent up to event', String(webhook.last_event)],
    ['made', out.time(webhook.created_at)],
    ['id', webhook.webhook_id],
  ])
}

export function deliveryColumns(out: Output): Column<WebhookDelivery>[] {
  const colours = { delivered: green, waiting: yellow, failed: red }
  return [
    { title: 'DELIVERY', of: ({ delivery_id: id }) => (out.terminal ? id.slice(0, 8) : id) },
    { title: 'EVENT', of: ({ event_id: id, event_type: type }) => (id === null ? type : `${type} ${id}`) },
    { title: 'STATE', of: ({ status }) => colours[status](status) },
    { title: 'TRIES', of: ({ attempts }) => String(attempts) },
    { title: 'HTTP', of: ({ http_status: status }) => (status === null ? dim('-') : String(status)) },
    { title: 'TOOK', of: ({ ms }) => (ms === null ? dim('-') : `${ms} ms`) },
    { title: 'MADE', of: ({ created_at: at }) => out.time(at) },
    { title: 'WHY', of: ({ error }) => error ?? '', shrink: true },
  ]
}
