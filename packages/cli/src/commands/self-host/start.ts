import type { ServerInfo } from '@svc/contract/daemon/owner-socket'
import { changeConfig } from '../../config/config-file.ts'
import { command } from '../../arguments/command.ts'
import type { Context } from '../../context.ts'
import { knownHosts } from '../../config/hosts.ts'
import { version } from '../../config/build-values.ts'
import { bold, cyan, green } from '../../terminal/output.ts'
import { Refusal } from '../../errors.ts'
import { askServer } from '../../self-host/ask-owner-link.ts'
import { askFirstModel } from '../../self-host/first-model.ts'
import { changedSettings, warnOfChanges } from '../../self-host/changed-settings.ts'
import {
  insteadOfSettings,
  problemsOfNextStart,
  warnOfBroken,
  warnOfInvalid,
  withoutBrokenLines,
} from '../../self-host/invalid-settings.ts'
import { noteFolderOfShell, serverEnvironment, warnOfUnkept } from '../../self-host/environment.ts'
import { otherUserOf, whoseText } from '../../self-host/foreign-server.ts'
import { launchServer } from '../../self-host/launch.ts'
import { readSettings, writeSettings } from '../../self-host/settings.ts'
import { requireServerProgram } from '../../self-host/require-server.ts'
import { askReady, type Ready } from '../../self-host/ask-ready.ts'
import { askRunning, noteTrouble, troubleOf } from '../../self-host/ask-running.ts'
import { servingServer } from '../../self-host/serving-server.ts'
import { type ServingServer, usualServer } from '../../self-host/state.ts'
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
  async run(given, { flags }) {
    const { ctx, broken } = await withoutBrokenLines(given)
    const { out } = ctx
    const running = await servingServer(ctx)
    if (running !== null) return sayRunning(ctx, running, broken)
    const other = await askServer(ctx)
    if (other !== null) throw await inUse(other)
    if (broken !== null) throw broken
    await requireServerProgram(ctx)
    if ((await readSettings(ctx)) === null)
      await writeSettings(ctx, ctx.interactive && !flags.yes ? await askSettings(ctx) : {})
    const started = await launchServer(ctx).catch(async (error: unknown) => {
      throw await insteadOfSettings(ctx, error, await serverEnvironment(ctx))
    })
    const { state, ownerLink, held, earlierVersion, isNew, joins, lacks, warnings } = started
    const isRegistered = held == null && (await register(ctx, state))
    const facts = { owner_link: ownerLink, earlier_version: earlierVersion, is_new: isNew, joins, lacks, warnings }
    if (out.json) return out.document({ ...state, started: true, ...facts })
    out.line(green('✓ '), 'The server is running: ', bold(state.url), ` (process ${state.pid})`)
    if (earlierVersion !== null) out.line(green('✓ '), `The server went from svc ${earlierVersion} to ${version}`)
    if (isNew) out.note(`A new, empty server began in ${state.data_dir}: its database was made just now.`)
    for (const { says, mend } of warnings) {
      out.warn(says)
      if (mend !== null) out.note(mend)
    }
    if (held != null) return sayHeld(ctx, held)
    if (!isRegistered) sayOtherHost(ctx, state.url)
    if (ownerLink !== null) {
      out.line()
      out.line('Open this link once, within 24 hours, to sign in:')
      out.line('  ', cyan(ownerLink))
      out.line()
    } else out.note(`To sign in a browser: ${ctx.next('svc self-host owner-link')}`)
    if (ctx.interactive && !flags.yes) {
      const model = await askFirstModel(ctx, state)
      if (model !== null) out.line(green('✓ '), 'Agents use ', bold(model))
    }
    warnWithoutSandboxes(ctx, await askReady(state))
    await warnOfUnkept(ctx, 'the next start')
    out.note(`Next: svc tour · ${ctx.next('svc self-host logs')} · ${ctx.next('svc self-host stop')}`)
  },
})

async function inUse(server: ServerInfo): Promise<Refusal> {
  const { data_dir: dataDir, url, pid } = server
  return new Refusal('not_available', `A server uses ${dataDir} already: ${url} (process ${pid})`, {
    hint: `${whoseText(await otherUserOf(server))}. Stop it there, or set SVC_DATA_DIR to another data folder.`,
    next: ['svc self-host status'],
  })
}

/** Otherwise it would stand in the log alone. `none` was chosen. */
function warnWithoutSandboxes({ out, next }: Context, ready: Ready | null): void {
  const sandbox = ready?.sandbox
  if (sandbox === undefined || sandbox.ready || sandbox.driver === 'none') return
  out.warn(`Sessions cannot start yet${sandbox.problem === null ? '' : `: ${sandbox.problem}`}`)
  out.note(`To see what to install: ${next('svc self-host doctor')}`)
}

async function sayRunning(ctx: Context, running: ServingServer, broken: Refusal | null): Promise<void> {
  const { out } = ctx
  const answers = await askRunning(running)
  const held = answers.info?.held ?? null
  const isRegistered = held === null && (await register(ctx, running))
  if (out.json) return out.document({ ...running, started: false, owner_link: null })
  out.line(green('✓ '), 'The server is already running: ', bold(running.url), ` (process ${running.pid})`)
  warnOfBroken(ctx, broken)
  // A line that cannot be parsed may have any setting, so nothing is known of the next start.
  const changed = broken === null ? await changedSettings(ctx, { pid: running.pid, state: running }) : []
  warnOfChanges(ctx, changed)
  if (changed.length > 0) await warnOfInvalid(ctx, await problemsOfNextStart(ctx))
  const trouble = troubleOf(answers)
  if (trouble !== null) out.warn(`The server is ${trouble}`)
  noteTrouble(ctx, running, answers)
  if (held !== null) return sayHeld(ctx, held)
  warnWithoutSandboxes(ctx, answers.ready)
  if (!isRegistered) sayOtherHost(ctx, running.url)
  if (broken === null) await noteFolderOfShell(ctx, { isCopy: false })
  out.note(`Next: ${ctx.next('svc self-host status')} · ${ctx.next('svc self-host owner-link')}`)
}

/** Its client, too, stays with the original. */
async function sayHeld(ctx: Context, { backup_created_at }: { backup_created_at: string }): Promise<void> {
  const { out, next } = ctx
  out.warn(
    `Restored from a backup of ${out.time(backup_created_at)}: it answers reads only, and nothing acts. The host selfhost of this client stays as it is.`,
  )
  out.note(`Next: ${next('svc self-host check')} · ${next('svc self-host owner-link')} · ${next('svc self-host stop')}`)
  out.note(`Once its original is off: ${next('svc self-host resume')}, then ${next('svc self-host start')}`)
  await noteFolderOfShell(ctx, { isCopy: true })
}

function sayOtherHost({ out }: Context, url: string): void {
  const { port, hostname } = new URL(url)
  const add = `svc login --host selfhost-${port || hostname} --api ${url}`
  out.note(`The host selfhost of this client is another running server. To use this one: ${add}`)
}

/**
 * Points the host name at the running server; does not change which host is active. False: it belongs to another
 * server that runs. Several servers with one PostgreSQL have the same URL.
 */
async function register(ctx: Context, { url, data_dir }: ServingServer): Promise<boolean> {
  const config = await ctx.config()
  const known = knownHosts(config, {}).find(({ name }) => name === 'selfhost')
  if (known?.base === url) return true
  const usual = await usualServer(ctx)
  if (usual !== null && usual.data_dir !== data_dir) return false
  let isSignedIn = false
  let isMoved = false
  await changeConfig(ctx.configPath(), (current) => {
    const isUsed = known?.origin != null && current.tokens[known.origin] !== undefined
    isMoved = current.hosts.selfhost !== undefined || isUsed
    current.hosts.selfhost = { url }
    // The first start of a server has just saved the owner's token.
    isSignedIn = current.tokens[new URL(url).origin] !== undefined
  })
  if (!isSignedIn) {
    const why = isMoved
      ? 'The host selfhost of this client has a new address.'
      : 'This client is not signed in to the server.'
    ctx.out.note(
      `${why} To sign in there: svc login --host selfhost, or without a browser: ${ctx.next('svc self-host owner-link')} | svc login --host selfhost --link -`,
    )
  }
  return true
}
