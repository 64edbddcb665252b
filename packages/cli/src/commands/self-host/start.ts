import { changeConfig } from '../../config/config-file.ts'
import { command } from '../../arguments/command.ts'
import type { Context } from '../../context.ts'
import { knownHosts } from '../../config/hosts.ts'
import { bold, cyan, green } from '../../terminal/output.ts'
import { Refusal } from '../../errors.ts'
import { askReady } from '../../self-host/ask-ready.ts'
import { askServer } from '../../self-host/ask-owner-link.ts'
import { askFirstModel } from '../../self-host/first-model.ts'
import { changedSettings, warnOfChanges } from '../../self-host/changed-settings.ts'
import { launchServer, unkeptSettings } from '../../self-host/launch.ts'
import { assignment, readSettings, writeSettings } from '../../self-host/settings.ts'
import { runningServer } from '../../self-host/state.ts'
import { askSettings } from '../../self-host/wizard.ts'

export const start = command({
  summary: 'Start your own server in the background as the host selfhost',
  about: [
    'The first start on a terminal asks three questions (again with svc self-host configure) and for a model (change it with svc models set). Uses the settings of svc self-host env; variables of the shell take precedence.',
    'Needs no container engine. The server runs until svc self-host stop or a shutdown; svc self-host unit prints a systemd service that restarts it.',
  ],
  scope: 'nothing',
  flags: { yes: { kind: 'switch', summary: "Don't ask; use the defaults" } },
  examples: ['svc self-host start', 'SVC_PORT=8421 svc self-host start --yes'],
  async run(ctx, { flags }) {
    const { out } = ctx
    const running = await runningServer(ctx)
    if (running !== null) {
      await register(ctx, running.url)
      if (out.json) return out.document({ ...running, started: false, owner_link: null })
      out.line(green('✓ '), 'The server is already running: ', bold(running.url), ` (process ${running.pid})`)
      warnOfChanges(ctx, await changedSettings(ctx, { pid: running.pid, state: running }))
      return out.note('Next: svc self-host status · svc self-host owner-link')
    }
    const other = await askServer(ctx)
    if (other !== null)
      throw new Refusal(
        'not_available',
        `A server uses ${other.data_dir} already: ${other.url} (process ${other.pid})`,
        {
          hint: 'Another program started it. Stop it there, or set SVC_DATA_DIR to another data folder.',
          next: ['svc self-host status'],
        },
      )
    if ((await readSettings(ctx)) === null)
      await writeSettings(ctx, ctx.interactive && !flags.yes ? await askSettings(ctx) : {})
    const { state, ownerLink } = await launchServer(ctx)
    const held = (await askReady(state))?.held ?? null
    // A restored copy may run beside its original, whose host stays.
    if (held === null) await register(ctx, state.url)
    const unkept = await unkeptSettings(ctx)
    if (out.json) return out.document({ ...state, started: true, owner_link: ownerLink })
    out.line(green('✓ '), 'The server is running: ', bold(state.url), ` (process ${state.pid})`)
    if (held !== null) {
      out.warn(
        `Restored from a backup of ${out.time(held.backup_created_at)}: it answers reads only, and nothing acts. Once its original is off: svc self-host resume`,
      )
      return out.note('Next: svc self-host check · svc self-host resume · svc self-host stop')
    }
    if (ownerLink !== null) {
      out.line()
      out.line('Open this link once, within 24 hours, to sign in:')
      out.line('  ', cyan(ownerLink))
      out.line()
    } else out.note('To sign in a browser: svc self-host owner-link')
    if (ctx.interactive && !flags.yes) {
      const model = await askFirstModel(ctx, state)
      if (model !== null) out.line(green('✓ '), 'Agents use ', bold(model))
    }
    if (unkept.length > 0) {
      const words = unkept.map((name) => assignment(name, ctx.io.env[name]!))
      out.warn(
        `${unkept.join(', ')} ${unkept.length === 1 ? 'is' : 'are'} set only in this shell. For the next start: svc self-host env set ${words.join(' ')}`,
      )
    }
    out.note('Next: svc tour · svc self-host logs · svc self-host stop')
  },
})

/** Points the host name at the running server; does not change which host is active. */
async function register(ctx: Context, url: string): Promise<void> {
  const config = await ctx.config()
  const known = knownHosts(config, {}).find(({ name }) => name === 'selfhost')
  if (known?.base === url) return
  await changeConfig(ctx.configPath(), (config) => {
    config.hosts.selfhost = { url }
  })
}
