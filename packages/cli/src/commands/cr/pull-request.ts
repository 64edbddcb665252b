import { command } from '../../arguments/command.ts'
import { bold, green } from '../../terminal/output.ts'
import { crArg, changeRequestAt } from './find.ts'

export const pullRequest = command({
  summary: 'Open a pull request for a change request on the git host',
  about: [
    'For a base branch that the git host protects: when the pull request is merged, the change request becomes merged.',
    'Shows the pull request if one is already open.',
  ],
  scope: 'project',
  args: { cr: crArg },
  examples: ['svc cr pull-request 3', 'svc cr pull-request @ --json'],
  async run(ctx, { args }) {
    const { at, cr } = await changeRequestAt(ctx, args.cr)
    const opened = await at.post('/pull-request', { once: true })
    if (ctx.out.json) return ctx.out.document(opened)
    const { number, url } = opened.pull_request!
    ctx.out.line(green('✓ '), 'Pull request ', bold(`#${number}`), ` for #${cr.number} ${cr.title}`)
    ctx.out.line(`  ${url}`)
    ctx.out.note(`Merge it on the git host. ${ctx.next(`svc cr show ${cr.number}`)} then shows it as merged.`)
  },
})
