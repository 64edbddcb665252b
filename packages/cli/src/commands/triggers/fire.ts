import { command } from '../../arguments/command.ts'
import { bold } from '../../terminal/output.ts'
import { slugArg } from './labels.ts'

export const fire = command({
  summary: 'Fire a trigger now, even if disabled: starts a session',
  scope: 'project',
  args: { slug: slugArg },
  flags: { message: { kind: 'text', summary: "Message added to the trigger's prompt", value: 'text' } },
  examples: ['svc triggers fire nightly', 'svc triggers fire triage --message "Only the parser"'],
  async run({ io, out, project, next }, { args, flags }) {
    const fired = await project.post('/triggers/{slug}/fire', {
      path: { slug: args.slug },
      headers: { 'Idempotency-Key': io.newId() },
      body: flags.message === undefined ? {} : { message: flags.message },
    })
    out.done(fired, 'Session ', bold(fired.session_id))
    out.note(`Follow it: ${next(`svc sessions chat ${fired.session_id.slice(0, 8)}`)}`)
  },
})
