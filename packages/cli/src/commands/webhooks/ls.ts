import { command } from '../../arguments/command.ts'
import { shortId } from './find.ts'
import { stateOf } from './options.ts'

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
