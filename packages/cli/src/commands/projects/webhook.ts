import { command } from '../../arguments/command.ts'
import { dim, green } from '../../terminal/output.ts'

export const webhook = command({
  summary: 'Show the webhook to set up on the git host, for immediate updates after a push',
  about: [
    'For owners and admins: a URL, and the secret that signs its calls. --rotate creates the first or another secret; the previous one becomes invalid. A managed repository needs no webhook.',
  ],
  scope: 'project',
  flags: { rotate: { kind: 'switch', summary: 'Create a secret' } },
  examples: ['svc projects webhook', 'svc projects webhook --rotate', 'svc projects webhook --json'],
  async run({ out, project, next }, { flags }) {
    const found = flags.rotate
      ? await project.post('/host-webhook/rotate', { once: true })
      : await project.get('/host-webhook')
    if (out.json) return out.document(found)
    if (flags.rotate)
      out.progress(green('✓ '), 'Created a secret. Enter it on the git host: earlier secrets are invalid.')
    out.fields([
      ['url', found.url],
      ['secret', found.secret ?? dim('none: calls are refused')],
      ['last call', found.last_call_at === null ? dim('never') : out.time(found.last_call_at)],
      ['format', found.last_sender],
    ])
    if (found.secret === null) out.note(`To create one: ${next('svc projects webhook --rotate')}`)
  },
})
