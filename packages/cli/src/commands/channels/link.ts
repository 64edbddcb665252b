import { confirm } from '../../terminal/ask.ts'
import { command } from '../../arguments/command.ts'
import { bold } from '../../terminal/output.ts'
import { quote } from '../../arguments/shell-word.ts'

export const link = command({
  summary: 'Link a chat user to yourself with the code from the chat',
  about: [
    'Mention the app in a connected channel and write "link": it sends you a code that only you can see. The chat user in the confirmation can then act as you, so never confirm a code that you got from another person.',
  ],
  scope: 'host',
  args: {
    code: { summary: "The code from the app's reply", hint: 'Mention the app in the channel and write "link".' },
  },
  flags: { yes: { kind: 'switch', summary: 'Do not ask' } },
  examples: ['svc channels link 3kTq…', 'svc channels link 3kTq… --yes'],
  async run(ctx, { args, flags }) {
    const body = { code: args.code }
    const found = await ctx.api.post('/v1/channel-links/claim', { body })
    const { out } = ctx
    const address = (name: string, email: string | null) => (email === null ? name : `${name} <${email}>`)
    const them = `${address(found.chat_user_name, found.chat_user_email)} of ${found.workspace_name}`
    const hasOther =
      found.chat_user_email !== null && found.user_email !== null && found.chat_user_email !== found.user_email
    if (hasOther) out.warn(`Their e-mail address in the chat differs from yours (${found.user_email}). Is that you?`)
    await confirm(ctx, {
      question: `Let ${them} act as you, ${address(found.user_name, found.user_email)}, in ${found.account_name}?`,
      yes: flags.yes,
      corrected: `svc channels link ${quote(args.code)} --yes`,
    })
    const made = await ctx.api.post('/v1/channel-links', { body })
    out.done(made, bold(made.chat_user_name), ` of ${made.workspace_name} acts as you`)
    out.note(`To unlink: ${ctx.next('svc channels unlink')}`)
  },
})
