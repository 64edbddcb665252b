import { command } from '../../../arguments/command.ts'
import { Refusal } from '../../../errors.ts'
import { bold, green } from '../../../terminal/output.ts'
import { crArg, changeRequestAt } from '../find.ts'

export const verify = command({
  summary: 'Repeat a merge from its receipt and compare the results',
  about: ['The exit code is 0 if content and commit are the same, otherwise 1.'],
  scope: 'project',
  args: { cr: crArg },
  examples: ['svc cr verify 3', 'svc cr verify 3 --json'],
  async run(ctx, { args }) {
    const { at, cr } = await changeRequestAt(ctx, args.cr)
    const found = await at.get('/verify')
    const { out } = ctx
    if (out.json) out.document(found)
    else {
      if (found.verified) out.line(green('✓ '), 'Verified ', bold(`#${cr.number} ${cr.title}`))
      out.fields([
        ['kind', found.kind],
        ['commit', found.expected.commit],
        ['tree', found.expected.tree],
        ['got commit', found.verified ? null : found.got.commit],
        ['got tree', found.verified ? null : found.got.tree],
        ['git', found.git_version],
      ])
    }
    if (!found.verified)
      throw new Refusal('not_verified', `The merge of #${cr.number} could not be verified`, {
        hint: found.reason ?? 'The repeated merge has a different result.',
        next: [`svc cr show ${cr.number}`],
      })
  },
})
