import { askHidden } from '../../terminal/ask.ts'
import { command } from '../../arguments/command.ts'
import type { Context } from '../../context.ts'
import { UsageError } from '../../errors.ts'
import { bold, green } from '../../terminal/output.ts'
import { readStdin } from '../../terminal/read-stdin.ts'
import { placeOf } from './channels.ts'

export const connect = command({
  summary: 'Connect a channel of a chat workspace to the project',
  about: [
    'First create the app: --app-manifest prints the manifest for Slack\'s "Create New App", "From a manifest". Install the app and invite it to the channel.',
    'The server tests the bot token and the signing secret, stores them encrypted and never shows them. A terminal prompts for them; --credentials - reads them from stdin: the token on the first line, the secret on the second. Connecting a channel again replaces them.',
  ],
  scope: 'project',
  flags: {
    channel: { kind: 'text', summary: 'Id of the channel, at the end of its details in Slack', value: 'C0123456789' },
    credentials: { kind: 'text', summary: '- reads token and secret from stdin, one per line', value: '-' },
    platform: { kind: 'choice', summary: 'The chat platform', choices: ['slack'] },
    'allow-unlinked': {
      kind: 'switch',
      summary: 'Let unlinked members of the workspace start sessions on your behalf',
    },
    'app-manifest': { kind: 'switch', summary: 'Print the app manifest and exit' },
  },
  examples: [
    'svc channels connect --app-manifest',
    'svc channels connect --channel C0123456789',
    'svc channels connect --channel C0123456789 --credentials - < slack.txt',
  ],
  async run(ctx, { flags }) {
    const { out } = ctx
    await ctx.project.id()
    if (flags['app-manifest']) {
      const { setup } = await ctx.project.get('/channels')
      const found = setup.find(({ platform }) => platform === (flags.platform ?? 'slack'))
      if (found?.warning) out.warn(found.warning)
      if (out.json) return out.document(found?.app_manifest ?? {})
      for (const text of JSON.stringify(found?.app_manifest ?? {}, null, 2).split('\n')) out.line(text)
      return
    }
    const conversation = flags.channel
    if (conversation === undefined)
      throw new UsageError('Missing --channel', {
        hint: "Find the id at the end of the channel's details in Slack.",
        next: ['svc channels connect --channel C0123456789', 'svc channels connect --app-manifest'],
      })
    const { token, secret } = await credentials(ctx, flags.credentials)
    const made = await ctx.project.post('/channels', {
      body: {
        platform: flags.platform ?? 'slack',
        bot_token: token,
        signing_secret: secret,
        conversation_id: conversation,
        allow_unlinked: flags['allow-unlinked'],
      },
    })
    if (out.json) return out.document(made)
    out.line(
      green('✓ '),
      bold(placeOf(made)),
      ` of ${made.workspace_name} is connected; the app is @${made.bot_name} there`,
    )
    if (made.shared_externally) out.warn('People outside the workspace can read this channel, and so the answers.')
    out.note(`Let Slack verify the request URL, then run: ${ctx.next('svc channels test')}`)
    out.note(`Link yourself: write "@${made.bot_name} link" in the channel.`)
  },
})

async function credentials(ctx: Context, from: string | undefined): Promise<{ token: string; secret: string }> {
  const corrected = ['svc channels connect --channel C0123456789 --credentials - < slack.txt']
  if (from === undefined) {
    const token = await askHidden(ctx, {
      question: 'Bot User OAuth Token (xoxb-…)',
      missing: '--credentials',
      corrected: corrected[0]!,
    })
    const secret = await askHidden(ctx, {
      question: 'Signing secret',
      missing: '--credentials',
      corrected: corrected[0]!,
    })
    return { token, secret }
  }
  // As arguments, these would be in the shell's history and in the process list.
  if (from !== '-') throw new UsageError('--credentials accepts only -, which reads stdin', { next: corrected })
  const lines = (await readStdin(ctx.io, 'the bot token, and the signing secret on the next line'))
    .split('\n')
    .map((text) => text.trim())
    .filter((text) => text !== '')
  if (lines.length !== 2)
    throw new UsageError('stdin must have two lines: the bot token, then the signing secret', { next: corrected })
  return { token: lines[0]!, secret: lines[1]! }
}
