import { command } from '../../arguments/command.ts'
import { green, red, yellow } from '../../terminal/output.ts'
import { warnOfErrors } from '../triggers/labels.ts'
import { placeOf } from './find.ts'

export const ls = command({
  summary: 'List the chat channels of the project',
  scope: 'project',
  examples: ['svc channels ls', 'svc channels ls --json'],
  async run({ out, project, next }) {
    const found = await project.get('/channels')
    out.list(found, found.channels, `No channels yet. Connect one: ${next('svc channels connect')}`, [
      { title: 'CHANNEL', of: placeOf },
      { title: 'WORKSPACE', of: (channel) => channel.workspace_name },
      { title: 'ID', of: (channel) => channel.channel_id.slice(0, 8) },
      { title: 'AGENT', of: (channel) => channel.agent ?? 'default' },
      {
        title: 'STATE',
        of: (channel) =>
          channel.error !== null
            ? red(channel.error)
            : channel.waiting > 0
              ? yellow(`${channel.waiting} waiting`)
              : green('connected'),
        shrink: true,
      },
    ])
    warnOfErrors(out, found.errors)
  },
})
