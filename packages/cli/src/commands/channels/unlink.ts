import { pick } from '../../terminal/ask.ts'
import { command } from '../../arguments/command.ts'
import { Refusal } from '../../errors.ts'
import { bold } from '../../terminal/output.ts'

export const unlink = command({
  summary: 'Unlink a chat user who acts as you',
  scope: 'host',
  args: { user: { summary: 'Name or id of the chat user (default: the only one)', optional: true } },
  examples: ['svc channels unlink', 'svc channels unlink Ada --json'],
  async run(ctx, { args }) {
    const links = await ctx.api.get('/v1/channel-links')
    const fitting = links.filter(
      (link) => args.user === undefined || [link.chat_user_name, link.chat_user_id, link.link_id].includes(args.user),
    )
    if (fitting.length === 0)
      throw new Refusal(
        'not_found',
        args.user === undefined
          ? 'No chat user is linked to you'
          : `No chat user ${JSON.stringify(args.user)} is linked to you`,
        {
          next: ['svc channels link <code>'],
        },
      )
    const link =
      fitting.length === 1
        ? fitting[0]!
        : await pick(ctx, {
            question: 'Who?',
            missing: '<user>',
            corrected: `svc channels unlink ${fitting[0]!.chat_user_id}`,
            choices: fitting.map((each) => ({ value: each, label: each.chat_user_name, hint: each.workspace_name })),
          })
    await ctx.api.delete('/v1/channel-links/{linkId}', { path: { linkId: link.link_id } })
    ctx.out.done(
      { ok: true, link_id: link.link_id },
      bold(link.chat_user_name),
      ` of ${link.workspace_name} is no longer linked to you`,
    )
  },
})
