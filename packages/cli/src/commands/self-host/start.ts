import { changeConfig } from '../../config-file.ts'
import { command } from '../../command.ts'
import type { Context } from '../../context.ts'
import { knownHosts } from '../../hosts.ts'
import { bold, cyan, green } from '../../output.ts'
import { Refusal } from '../../errors.ts'
import { askServer } from '../../self-host/ask-owner-link.ts'
import { changedSettings, launchServer, unkeptSettings } from '../../self-host/launch.ts'
import { readSettings, writeSettings } from '../../self-host/settings.ts'
import { runningServer } from '../../self-host/state.ts'
import { askSettings } from '../../self-host/wizard.ts'

export const start = command({
  summary: 'Start a server of your own in the background, and make it the host selfhost',
  about: [
    'The first start on a terminal asks three questions; svc self-host configure asks them again. Settings are those of svc self-host env; what the shell sets comes first.',
    'It needs no container engine. It ends with svc self-host stop or with the machine; svc self-host unit prints a service of systemd that starts it again.',
  ],
  scope: 'nothing',
  args: {},
  flags: { yes: { kind: 'switch', summary: 'Do not ask: the defaults are used' } },
  examples: ['svc self-host start', 'SVC_PORT=8421 svc self-host start --yes'],
  async run(ctx, { flags }) {
    const { out } = ctx
    const running = await runningServer(ctx)
    if (running !== null) {
      await register(ctx, running.url)
      if (out.json) return out.document({ ...running, started: false, owner_link: null })
      out.line(green('✓ '), 'The server runs already: ', bold(running.url), ` (process ${running.pid})`)
      const changed = await changedSettings(ctx, running)
      if (changed.length > 0)
        out.warn(
          `It was started with other settings: ${changed.join(', ')}. They apply after svc self-host stop and start.`,
        )
      return out.note('Next: svc self-host status · svc self-host owner-link')
    }
    const other = await askServer(ctx)
    if (other !== null)
      throw new Refusal(
        'not_available',
        `A server uses ${other.data_dir} already: ${other.url} (process ${other.pid})`,
        {
          hint: 'Something else started it. Stop it there, or give this one a data folder of its own by SVC_DATA_DIR.',
          next: ['svc self-host status'],
        },
      )
    if ((await readSettings(ctx)) === null)
      await writeSettings(ctx, ctx.interactive && !flags.yes ? await askSettings(ctx) : {})
    const { state, ownerLink } = await launchServer(ctx)
    await register(ctx, state.url)
    const unkept = await unkeptSettings(ctx)
    if (out.json) return out.document({ ...state, started: true, owner_link: ownerLink })
    out.line(green('✓ '), 'The server runs: ', bold(state.url), ` (process ${state.pid})`)
    if (ownerLink !== null) {
      out.line()
      out.line('Open this link once, within 24 hours, to sign in:')
      out.line('  ', cyan(ownerLink))
      out.line()
    } else out.note('To sign a browser in: svc self-host owner-link')
    if (unkept.length > 0)
      out.warn(
        `${unkept.join(', ')} came from this shell and ${unkept.length === 1 ? 'is' : 'are'} not kept for the next start: svc self-host env set keeps ${unkept.length === 1 ? 'it' : 'them'}.`,
      )
    out.note('Next: svc tour · svc self-host logs · svc self-host stop')
  },
})

/** The name leads to the server that runs here; which host is active is not changed. */
async function register(ctx: Context, url: string): Promise<void> {
  const config = await ctx.config()
  const known = knownHosts(config, {}).find(({ name }) => name === 'selfhost')
  if (known?.base === url) return
  await changeConfig(ctx.configPath(), (config) => {
    config.hosts.selfhost = { url }
  })
}
