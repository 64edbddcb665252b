import { reply } from '../../api.ts'
import { askHidden } from '../../ask-hidden.ts'
import { command } from '../../command.ts'
import type { Context } from '../../context.ts'
import { UsageError } from '../../errors.ts'
import { bold, green } from '../../output.ts'
import { readStdin } from '../../read-stdin.ts'
import { placeOf } from './find.ts'

export const connect = command({
  summary: 'Connect a channel of a chat workspace to the project',
  about: [
    'Make the app first: --app-manifest prints what Slack asks for under "Create New App", "From a manifest". Install it, and invite it in the channel.',
    'The bot token and the signing secret are tested, kept sealed and never shown. On a terminal they are asked for; --credentials - reads them from stdin, the token on the first line and the secret on the second. Connecting a connected channel again replaces them.',
  ],
  scope: 'project',
  args: {},
  flags: {
    channel: { kind: 'text', summary: 'Id of the channel, from the end of its details in Slack', value: 'C0123456789' },
    credentials: { kind: 'text', summary: '-: token and secret come from stdin, one a line', value: '-' },
    platform: { kind: 'choice', summary: 'The chat platform', choices: ['slack'] },
    'allow-unlinked': {
      kind: 'switch',
      summary: 'Members of the workspace who are not linked may start sessions, for you',
    },
    'app-manifest': { kind: 'switch', summary: 'Print what to make the app from, and stop' },
  },
  examples: [
    'svc channels connect --app-manifest',
    'svc channels connect --channel C0123456789',
    'svc channels connect --channel C0123456789 --credentials - < slack.txt',
  ],
  async run(ctx, { flags }) {
    const { out } = ctx
    const at = await ctx.project()
    const { api, projectId } = at
    const params = { path: { projectId } }
    if (flags['app-manifest']) {
      const { setup } = await reply(api.GET('/v1/projects/{projectId}/channels', { params }))
      const found = setup.find(({ platform }) => platform === (flags.platform ?? 'slack'))
      if (found?.warning) out.warn(found.warning)
      if (out.json) return out.document(found?.app_manifest ?? {})
      for (const text of JSON.stringify(found?.app_manifest ?? {}, null, 2).split('\n')) out.line(text)
      return
    }
    const conversation = flags.channel
    if (conversation === undefined)
      throw new UsageError('Missing --channel', {
        hint: 'The id stands at the end of the details of the channel in Slack.',
        next: ['svc channels connect --channel C0123456789', 'svc channels connect --app-manifest'],
      })
    const { token, secret } = await credentials(ctx, flags.credentials)
    const made = await reply(
      api.POST('/v1/projects/{projectId}/channels', {
        params,
        body: {
          platform: flags.platform ?? 'slack',
          bot_token: token,
          signing_secret: secret,
          conversation_id: conversation,
          allow_unlinked: flags['allow-unlinked'],
        },
      }),
    )
    if (out.json) return out.document(made)
    out.line(
      green('✓ '),
      bold(placeOf(made)),
      ` of ${made.workspace_name} is connected; the app is @${made.bot_name} there`,
    )
    if (made.shared_externally)
      out.warn('People outside of the workspace read this channel, and will read the answers.')
    out.note(`Let Slack verify the request URL now, then: ${ctx.next('svc channels test')}`)
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
  // On the command line they would be in the history of the shell, and in everybody's list of processes.
  if (from !== '-') throw new UsageError('--credentials takes - and reads stdin', { next: corrected })
  const lines = (await readStdin(ctx.io, 'the bot token, and the signing secret on the next line'))
    .split('\n')
    .map((text) => text.trim())
    .filter((text) => text !== '')
  if (lines.length !== 2)
    throw new UsageError('stdin has to hold two lines: the bot token, then the signing secret', { next: corrected })
  return { token: lines[0]!, secret: lines[1]! }
}
