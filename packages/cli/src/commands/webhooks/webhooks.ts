import type { Webhook, WebhookDelivery } from '@svc/sdk'
import { command } from '../../arguments/command.ts'
import { findOne, uuid } from '../../arguments/find-one.ts'
import { limitFlag } from '../../arguments/limit.ts'
import type { Context } from '../../context.ts'
import { Refusal, UsageError } from '../../errors.ts'
import type { ProjectClient } from '../../requests.ts'
import { confirm, pick } from '../../terminal/ask.ts'
import { bold, type Column, dim, green, type Output, red, type Styled, yellow } from '../../terminal/output.ts'
import { readStdin } from '../../terminal/read-stdin.ts'

const webhookArg = {
  summary: 'Id or URL of the webhook (default: the only one)',
  names: 'webhook',
  optional: true,
} as const

/** An older delivery needs its whole id. */
const deliveriesSearched = 1000

/** Without an argument: the only webhook, or a picker. */
async function findWebhook(ctx: Context, input: { named: string | undefined; command: string }): Promise<Webhook> {
  const { named, command } = input
  const { webhooks } = await ctx.project.get('/webhooks')
  if (webhooks.length === 0)
    throw new Refusal('not_found', 'This project has no webhooks', { next: ['svc webhooks add <url>'] })
  if (named === undefined) {
    if (webhooks.length === 1) return webhooks[0]!
    return pick(ctx, {
      question: 'Which webhook?',
      missing: '<webhook>',
      corrected: `svc webhooks ${command} ${shortId(webhooks[0]!)}`,
      choices: webhooks.map((webhook) => ({ value: webhook, label: webhook.url, hint: webhook.state })),
    })
  }
  return findOne(webhooks, named, {
    what: ['webhook', 'webhooks'],
    id: (webhook) => webhook.webhook_id,
    isNamed: (webhook) => webhook.url === named,
    next: ['svc webhooks ls'],
  })
}

async function findDelivery(
  project: ProjectClient,
  { webhook, named }: { webhook: Webhook; named: string },
): Promise<Pick<WebhookDelivery, 'delivery_id'>> {
  if (uuid.test(named)) return { delivery_id: named.toLowerCase() }
  const { deliveries } = await project.get('/webhooks/{webhookId}/deliveries', {
    path: { webhookId: webhook.webhook_id },
    query: { limit: deliveriesSearched },
  })
  return findOne(deliveries, named, {
    what: ['delivery', 'deliveries'],
    id: (delivery) => delivery.delivery_id,
    next: [`svc webhooks deliveries ${shortId(webhook)}`],
  })
}

const shortId = ({ webhook_id: id }: Pick<Webhook, 'webhook_id'>) => id.slice(0, 8)

const eventsFlag = {
  kind: 'text',
  summary: "Event types, all of a noun ('session.*') or '*', separated by commas",
  value: 'types',
  names: 'event',
} as const

const secretFlag = { kind: 'text', summary: '- reads your own secret from stdin', value: '-' } as const

function eventsOf(text: string): string[] {
  return text
    .split(',')
    .map((each) => each.trim())
    .filter((each) => each !== '')
}

/** As an argument, it would be in the shell's history and in the process list. */
async function secretOf(ctx: Context, from: string): Promise<string> {
  if (from !== '-')
    throw new UsageError('--secret accepts only -, which reads stdin', {
      hint: 'Without it, the server creates a secret.',
    })
  return (await readStdin(ctx.io, 'the secret')).trim()
}

function stateOf({ state }: Pick<Webhook, 'state'>): Styled {
  return { active: green, retrying: yellow, paused: red }[state](state)
}

function printWebhook(out: Output, webhook: Webhook): void {
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

function deliveryColumns(out: Output): Column<WebhookDelivery>[] {
  const colours = { delivered: green, waiting: yellow, failed: red }
  return [
    { title: 'DELIVERY', of: ({ delivery_id: id }) => (out.terminal ? id.slice(0, 8) : id) },
    { title: 'EVENT', of: ({ event_id: id, event_type: type }) => (id === null ? type : `${type} ${id}`) },
    { title: 'STATE', of: ({ status }) => colours[status](status) },
    { title: 'TRIES', of: ({ attempts }) => String(attempts) },
    { title: 'HTTP', of: ({ http_status: status }) => (status === null ? dim('-') : String(status)) },
    { title: 'TOOK', of: ({ ms }) => (ms === null ? dim('-') : `${ms} ms`) },
    { title: 'CREATED', of: ({ created_at: at }) => out.time(at) },
    { title: 'WHY', of: ({ error }) => error ?? '', shrink: true },
  ]
}

export const ls = command({
  summary: 'List the webhooks of the project',
  scope: 'project',
  examples: ['svc webhooks ls', 'svc webhooks ls --json'],
  async run({ out, project, next }) {
    const found = await project.get('/webhooks')
    out.list(found, found.webhooks, `No webhooks yet. Add one: ${next('svc webhooks add <url>')}`, [
      { title: 'ID', of: (webhook) => (out.terminal ? shortId(webhook) : webhook.webhook_id) },
      { title: 'STATE', of: stateOf },
      { title: 'URL', of: (webhook) => webhook.url, shrink: true },
      { title: 'EVENTS', of: (webhook) => webhook.events.join(','), shrink: true },
      { title: 'WHY', of: (webhook) => webhook.reason ?? '', shrink: true },
    ])
  },
})

const deliveriesShown = 10

export const show = command({
  summary: 'Show a webhook, why it is paused, and its newest deliveries',
  scope: 'project',
  args: { webhook: webhookArg },
  examples: ['svc webhooks show', 'svc webhooks show 0a1b2c3d --json'],
  async run(ctx, { args }) {
    const webhook = await findWebhook(ctx, { named: args.webhook, command: 'show' })
    const { deliveries } = await ctx.project.get('/webhooks/{webhookId}/deliveries', {
      path: { webhookId: webhook.webhook_id },
      query: { limit: deliveriesShown },
    })
    const { out } = ctx
    if (out.json) return out.document({ ...webhook, deliveries })
    printWebhook(out, webhook)
    out.section(deliveries, deliveryColumns(out))
    if (webhook.state === 'paused')
      out.note(
        `To continue where it stopped: ${ctx.next(`svc webhooks edit ${webhook.webhook_id.slice(0, 8)} --resume`)}`,
      )
  },
})

export const add = command({
  summary: 'Send signed events of the project to a URL, from the next event on',
  about: [
    'Prints the signing secret once to stdout; everything else goes to stderr. With --secret - you provide it, and it is not printed.',
  ],
  scope: 'project',
  args: { url: { summary: 'An https URL that answers 2xx' } },
  flags: { events: { ...eventsFlag, summary: `${eventsFlag.summary} (default: all)` }, secret: secretFlag },
  examples: [
    'svc webhooks add https://ci.example.com/svc > webhook-secret',
    "svc webhooks add https://ci.example.com/svc --events 'change_request.*,session.failed'",
    'svc webhooks add https://ci.example.com/svc --secret - < webhook-secret',
  ],
  async run(ctx, { args, flags }) {
    const secret = flags.secret === undefined ? undefined : await secretOf(ctx, flags.secret)
    const made = await ctx.project.post('/webhooks', {
      once: true,
      body: {
        url: args.url,
        events: flags.events === undefined ? ['*'] : eventsOf(flags.events),
        secret,
      },
    })
    const { out } = ctx
    if (out.json) return out.document(made)
    out.progress(green('✓ '), 'Events go to ', bold(made.url), `: ${made.events.join(', ')}`)
    if (secret === undefined) {
      out.line(made.secret)
      out.note('The secret is shown only once.')
    }
    out.note(`Try it: ${ctx.next(`svc webhooks ping ${shortId(made)} --wait`)}`)
  },
})

export const edit = command({
  summary: 'Change a webhook, pause or resume it, or give it a new secret',
  about: [
    'A resumed webhook continues where it stopped; --from-now drops the waiting events. --rotate-secret prints the new secret once; the previous one becomes invalid.',
  ],
  scope: 'project',
  args: { webhook: webhookArg },
  flags: {
    url: { kind: 'text', summary: 'New URL', value: 'url' },
    events: eventsFlag,
    pause: { kind: 'switch', summary: 'Send nothing until --resume' },
    resume: { kind: 'switch', summary: 'Continue sending' },
    'from-now': { kind: 'switch', summary: 'Drop unsent events' },
    'rotate-secret': { kind: 'switch', summary: 'Create a new secret' },
    secret: secretFlag,
  },
  examples: [
    'svc webhooks edit --resume',
    "svc webhooks edit 0a1b2c3d --events 'change_request.merged,deploy.*'",
    'svc webhooks edit 0a1b2c3d --rotate-secret > webhook-secret',
  ],
  async run(ctx, { args, flags }) {
    if (flags.pause && flags.resume) throw new UsageError("--pause and --resume can't be combined")
    if (flags['rotate-secret'] && flags.secret !== undefined)
      throw new UsageError("--rotate-secret and --secret can't be combined")
    const body = {
      url: flags.url,
      events: flags.events === undefined ? undefined : eventsOf(flags.events),
      paused: flags.pause || flags.resume ? flags.pause : undefined,
      from_now: flags['from-now'] || undefined,
      rotate_secret: flags['rotate-secret'] || undefined,
      secret: flags.secret === undefined ? undefined : await secretOf(ctx, flags.secret),
    }
    if (Object.values(body).every((value) => value === undefined))
      throw new UsageError('Nothing to change: pass at least one flag', { next: ['svc webhooks edit --help'] })
    const { webhook_id: webhookId } = await findWebhook(ctx, { named: args.webhook, command: 'edit' })
    const edited = await ctx.project.patch('/webhooks/{webhookId}', { path: { webhookId }, body })
    const { out } = ctx
    if (out.json) return out.document(edited)
    out.progress(green('✓ '), bold(edited.url), ' is ', stateOf(edited), `: ${edited.events.join(', ')}`)
    if (!flags['rotate-secret'] || edited.secret === null) return
    out.line(edited.secret)
    out.note('The secret is shown only once.')
  },
})

export const rm = command({
  summary: 'Remove a webhook and its deliveries',
  scope: 'project',
  args: { webhook: webhookArg },
  flags: { yes: { kind: 'switch', summary: 'Do not ask' } },
  examples: ['svc webhooks rm', 'svc webhooks rm 0a1b2c3d --yes'],
  async run(ctx, { args, flags }) {
    const webhook = await findWebhook(ctx, { named: args.webhook, command: 'rm' })
    const { webhook_id: webhookId, url } = webhook
    await confirm(ctx, {
      question: `Stop sending events to ${url}?`,
      yes: flags.yes,
      corrected: `svc webhooks rm ${shortId(webhook)} --yes`,
    })
    const path = { webhookId }
    await ctx.project.delete('/webhooks/{webhookId}', { path })
    ctx.out.done({ ok: true, webhook_id: webhookId }, 'Removed the webhook to ', bold(url))
  },
})

export const deliveries = command({
  summary: 'List the deliveries of a webhook and their results, newest first',
  about: ['Kept for thirty days. --json includes the start of each response.'],
  scope: 'project',
  args: { webhook: webhookArg },
  flags: { limit: limitFlag },
  examples: ['svc webhooks deliveries', 'svc webhooks deliveries 0a1b2c3d --limit 5 --json'],
  async run(ctx, { args, flags }) {
    const { limit } = flags
    const webhook = await findWebhook(ctx, { named: args.webhook, command: 'deliveries' })
    const { data, cursor } = await ctx.project.page('/webhooks/{webhookId}/deliveries', {
      path: { webhookId: webhook.webhook_id },
      query: { limit },
    })
    const { out } = ctx
    out.list(
      data,
      data.deliveries,
      `No deliveries yet. ${ctx.next(`svc webhooks ping ${shortId(webhook)}`)} tries it.`,
      deliveryColumns(out),
    )
    if (cursor !== null && limit < 1000) out.note(`There are more: --limit ${Math.min(1000, limit * 10)}`)
  },
})

export const ping = command({
  summary: 'Send a ping to a webhook, even if it is paused',
  scope: 'project',
  args: { webhook: webhookArg },
  flags: { wait: { kind: 'switch', summary: 'Wait until the receiver accepts it; fail if it does not' } },
  examples: ['svc webhooks ping', 'svc webhooks ping 0a1b2c3d --wait'],
  async run(ctx, { args, flags }) {
    const webhook = await findWebhook(ctx, { named: args.webhook, command: 'ping' })
    const path = { webhookId: webhook.webhook_id }
    const delivery = await ctx.project.post('/webhooks/{webhookId}/ping', { path, once: true })
    await tellSent(ctx, { webhook, delivery, wait: flags.wait })
  },
})

export const redeliver = command({
  summary: 'Send a delivery again with the same id; a waiting one is sent at once',
  scope: 'project',
  args: {
    delivery: { summary: 'Id of the delivery, or its first characters', hint: 'svc webhooks deliveries lists them.' },
    webhook: webhookArg,
  },
  examples: ['svc webhooks redeliver 4e5f6a7b', 'svc webhooks redeliver 4e5f6a7b 0a1b2c3d --json'],
  async run(ctx, { args }) {
    const webhook = await findWebhook(ctx, {
      named: args.webhook,
      command: `redeliver ${args.delivery}`,
    })
    const { delivery_id: deliveryId } = await findDelivery(ctx.project, { webhook, named: args.delivery })
    const path = { webhookId: webhook.webhook_id, deliveryId }
    const delivery = await ctx.project.post('/webhooks/{webhookId}/deliveries/{deliveryId}/redeliver', {
      path,
      once: true,
    })
    await tellSent(ctx, { webhook, delivery, wait: false })
  },
})

const lookEveryMs = 250
/** A receiver has ten seconds, and other deliveries may be ahead. */
const waitMaxMs = 60_000
const newest = 100

interface Asked {
  webhook: Webhook
  delivery: WebhookDelivery
  wait: boolean
}

/** With `wait`, resolves when the receiver accepts it and throws when the attempt fails. */
async function tellSent(ctx: Context, { webhook, delivery, wait }: Asked): Promise<void> {
  const { out } = ctx
  const sent = wait ? await untilTried(ctx, { webhook, delivery }) : delivery
  if (out.json) return out.document(sent)
  const name = sent.event_id === null ? sent.event_type : `${sent.event_type} ${sent.event_id}`
  if (wait) return out.line(green('✓ '), bold(webhook.url), ` accepted ${name}: ${sent.http_status}, ${sent.ms} ms`)
  out.line(green('✓ '), 'Sending to ', bold(webhook.url), `: ${name}`)
  out.note(`See the result: ${ctx.next(`svc webhooks deliveries ${shortId(webhook)} --limit 5`)}`)
}

async function untilTried(
  { io, out, project }: Context,
  { webhook, delivery }: Omit<Asked, 'wait'>,
): Promise<WebhookDelivery> {
  const { webhook_id: webhookId } = webhook
  const next = [`svc webhooks show ${shortId(webhook)}`]
  const began = io.now()
  while (io.now() - began < waitMaxMs) {
    const { deliveries } = await project.get('/webhooks/{webhookId}/deliveries', {
      path: { webhookId },
      query: { limit: newest },
    })
    const found = deliveries.find(({ delivery_id: id }) => id === delivery.delivery_id)
    const wasTried = found !== undefined && found.attempts > delivery.attempts
    if (found?.status === 'delivered') return found
    if (found === undefined || found.status === 'failed' || wasTried)
      throw new Refusal('not_delivered', `${webhook.url} did not accept it: ${found?.error ?? 'it no longer exists'}`, {
        ...(found?.answer ? { lines: [found.answer] } : {}),
        detail: { delivery_id: delivery.delivery_id, http_status: found?.http_status ?? null },
        next,
      })
    out.passing('waiting for the receiver')
    await io.sleep(lookEveryMs)
  }
  throw new Refusal('timed_out', 'Timed out: not sent within a minute', { next })
}
