import { command } from '../../arguments/command.ts'
import type { Context } from '../../context.ts'
import { Refusal, UsageError } from '../../errors.ts'
import { askOwnerLink, askServer, askStopWithSessions } from '../../self-host/ask-owner-link.ts'
import { askServerProgram } from '../../self-host/ask-program.ts'
import { askReady } from '../../self-host/ask-ready.ts'
import { changedSettings, dataDirOf, serverCommand, serverEnvironment } from '../../self-host/launch.ts'
import { writeSettings } from '../../self-host/settings.ts'
import { forgetServer, runningServer, selfHostFile, type ServerState } from '../../self-host/state.ts'
import { untilStopped } from '../../self-host/until-stopped.ts'
import { askSettings } from '../../self-host/wizard.ts'
import { bold, dim, green, red, type Styled, yellow } from '../../terminal/output.ts'

export const configure = command({
  summary: 'Answer the three questions of the first start again',
  scope: 'nothing',
  examples: ['svc self-host configure', 'svc self-host env set SVC_APP_PROVIDER=none'],
  async run(ctx) {
    if (!ctx.interactive)
      throw new UsageError('The questions need a terminal', {
        hint: 'Without one, set the settings by hand.',
        next: ['svc self-host env ls', 'svc self-host env set SVC_APP_PROVIDER=local SVC_CONNECTOR_PROVIDER=mcp'],
      })
    const path = await writeSettings(ctx, await askSettings(ctx))
    ctx.out.line(green('✓ '), `Saved in ${path}`)
    if ((await runningServer(ctx)) !== null) ctx.out.note('Applies at the next start: svc self-host stop, then start.')
  },
})

export const ownerLink = command({
  summary: "Create a one-time sign-in link to the dashboard, on the server's machine",
  about: [
    "Uses a socket in the server's data folder that only the user who runs the server can open; needs no token. The link signs in the first owner; --email chooses another user, such as one who forgot their password.",
    "The data folder is the one of svc self-host start, or the server's SVC_DATA_DIR.",
  ],
  scope: 'nothing',
  flags: { email: { kind: 'text', summary: 'Sign in the user with this address instead', value: 'address' } },
  examples: ['svc self-host owner-link', 'SVC_DATA_DIR=/srv/svc svc self-host owner-link --json'],
  async run(ctx, { flags }) {
    const link = await askOwnerLink(ctx, flags.email ?? null)
    if (ctx.out.json) return ctx.out.document(link)
    ctx.out.line(link.url)
    ctx.out.note(`Works once, until ${link.expires_at}. It signs in as ${flags.email ?? 'the first owner'}.`)
  },
})

export const status = command({
  summary: 'Show whether your server is running, its URL and its data folder',
  scope: 'nothing',
  examples: ['svc self-host status', 'svc self-host status --json'],
  async run(ctx) {
    const { out } = ctx
    const started = await runningServer(ctx)
    const server: Found | null = started ?? (await askServer(ctx))
    const changed = started === null ? [] : await changedSettings(ctx, started)
    const ready = server === null ? null : await askReady(server)
    if (out.json)
      return out.document({
        ...{ running: server !== null, ready: ready !== null, server, facts: ready },
        ...{ started_by_self_host: started !== null, changed_settings: changed },
      })
    if (server === null) {
      out.fields([
        ['server', red('not running')],
        ['data', dataDirOf(await serverEnvironment(ctx))],
      ])
      return out.note('Next: svc self-host start')
    }
    out.fields([
      ['server', ready === null ? yellow('running, but not responding') : green('running')],
      ['address', server.url],
      ['process', String(server.pid)],
      ['started', started === null ? 'not started by svc self-host' : out.time(started.started_at)],
      ['version', ready?.version ?? null],
      ['program', server.program ?? null],
      [
        'sandboxes',
        ready === null ? null : ready.sandbox.ready ? ready.sandbox.driver : (ready.sandbox.problem ?? 'none'),
      ],
      ['model', ready?.model ?? null],
      ['apps', ready?.providers.apps ?? null],
      ['connectors', ready?.providers.connectors ?? null],
      ['data', server.data_dir],
      ['log', started?.log ?? null],
    ])
    if (changed.length > 0)
      out.warn(`Started with other settings: ${changed.join(', ')}. They apply after svc self-host stop and start.`)
  },
})

/** Finds the server by its state file, or by the socket of its data folder. */
type Found = Pick<ServerState, 'pid' | 'url' | 'data_dir'> & { program?: string }

export const stop = command({
  summary: 'Stop the server that svc self-host started',
  about: [
    'Agents, apps and checks go on; the next start continues them. Without a start they end after SVC_SANDBOX_LEASE_SECONDS.',
    '--sessions stops them, too, after it saved the unfinished work of sessions. It does so, too, when the server is stopped already: it starts the database for it. svc sessions restart continues a session; apps and checks start again with the server. Removes nothing.',
  ],
  scope: 'nothing',
  flags: {
    sessions: { kind: 'switch', summary: 'Stop sessions, apps and checks, too, also of a server that is stopped' },
  },
  examples: ['svc self-host stop', 'svc self-host stop --sessions', 'svc self-host stop --json'],
  async run(ctx, { flags }) {
    const { out } = ctx
    const server = await runningServer(ctx)
    const answer = flags.sessions ? await askStopWithSessions(ctx) : null
    const asked = answer === 'older' ? null : answer
    if (server === null) {
      await forgetServer(ctx)
      const other = asked ?? (await askServer(ctx))
      if (flags.sessions && (asked !== null || other === null)) return endLeft(ctx, asked)
      if (out.json) return out.document({ stopped: false, pid: other?.pid ?? null })
      if (other !== null)
        return out.note(`Process ${other.pid} serves ${other.url}. Another program started it: stop it there.`)
      return out.note('No server started by svc self-host start is running.')
    }
    if (asked === null) process.kill(server.pid, 'SIGTERM')
    await untilStopped(ctx, server)
    // It was stopping without them already, or did not listen yet.
    if (flags.sessions && answer === null) return endLeft(ctx, null, server.pid)
    out.done({ stopped: true, pid: server.pid }, `Stopped (process ${server.pid})`)
    if (!flags.sessions)
      out.note(
        `Agents at work go on; the next start continues them. To end them: ${ctx.next('svc self-host stop --sessions')}`,
      )
  },
})

/** The database starts first, and a sandbox on a busy machine may be silent for a minute. */
const endLeftMs = 180_000

/** What a running server runs already ends with it; what a stopped one left is ended here. `stopped`: its process, if this command stopped it. */
async function endLeft(
  ctx: Context,
  other: Pick<ServerState, 'pid'> | null,
  stopped: number | null = null,
): Promise<void> {
  if (other !== null)
    return ctx.out.done(
      { stopped: true, pid: other.pid },
      `Process ${other.pid} stops with its sessions, apps and checks`,
    )
  const { ended, unsaved } = await askServerProgram<{ ended: number; unsaved: number }>(ctx, '--end-sandboxes', {
    ms: endLeftMs,
    otherwise: 'The sandboxes could not be ended.',
  })
  const what = ended === 1 ? 'Ended 1 sandbox' : `Ended ${ended} sandboxes`
  const server = stopped === null ? 'No server was running' : `Stopped (process ${stopped})`
  ctx.out.done({ stopped: stopped !== null, pid: stopped, ended, unsaved }, `${server}. ${what}`)
  if (unsaved > 0) {
    const whose = unsaved === 1 ? '1 session are' : `${unsaved} sessions are`
    ctx.out.warn(`The last changes of ${whose} not saved. The page of a session says why.`)
  } else if (ended > 0) ctx.out.note('The unfinished work of sessions is saved.')
}

export const unit = command({
  summary: 'Print a systemd service that runs your server',
  about: ['A user service: with lingering enabled it starts at boot, and it restarts after a crash.'],
  scope: 'nothing',
  examples: [
    'svc self-host unit > ~/.config/systemd/user/svc.service',
    'systemctl --user enable --now svc && loginctl enable-linger',
  ],
  async run(ctx) {
    const words = serverCommand().map((word) => `"${word.replace(/[\\"]/g, '\\$&').replaceAll('%', '%%')}"`)
    const env = selfHostFile(ctx, 'env').replaceAll('%', '%%')
    const text = `[Unit]
Description=svc server
After=network-online.target

[Service]
ExecStart=${words.join(' ')}
EnvironmentFile=-${env}
Environment=SVC_LOG=json
Restart=on-failure
RestartSec=2
# It drains within ten seconds.
TimeoutStopSec=30
# Sandboxes are given limits of their own. They go on while the server restarts: svc self-host stop --sessions ends them.
Delegate=yes
DelegateSubgroup=server
KillMode=process

[Install]
WantedBy=default.target
`
    if (ctx.out.json) return ctx.out.document({ unit: text })
    ctx.out.raw(text)
    ctx.out.note('Before you enable it, stop a server of svc self-host start.')
  },
})

const doctorMs = 60_000

interface Report {
  driver: string | null
  ready: boolean
  drivers: {
    name: string
    findings: { name: string; state: 'good' | 'weak' | 'missing'; says: string; mend: string | null }[]
  }[]
}

const marks: Record<Report['drivers'][number]['findings'][number]['state'], Styled> = {
  good: green('✓ '),
  weak: yellow('! '),
  missing: red('✗ '),
}

export const doctor = command({
  summary: 'Check this machine: whether sessions can start, how well they are isolated, how to fix problems',
  about: ["Needs no running server and leaves nothing running. Exit code 1 if sessions can't start."],
  scope: 'nothing',
  examples: ['svc self-host doctor', 'svc self-host doctor --json'],
  async run(ctx) {
    const { out } = ctx
    const report = await askServerProgram<Report>(ctx, '--doctor', {
      ms: doctorMs,
      otherwise: 'The check of this machine failed.',
    })
    if (out.json) out.document(report)
    else {
      for (const { name, findings } of report.drivers) {
        out.line(bold(name), name === report.driver ? dim('  what sessions get') : '')
        for (const { name: part, state, says, mend } of findings) {
          out.line('  ', marks[state], `${part}: ${says}`)
          if (mend !== null) out.line('      ', dim(mend))
        }
        out.line()
      }
    }
    if (report.ready) return out.note('Sessions can start here.')
    const why = report.driver === null ? 'SVC_SANDBOX_DRIVER is none.' : 'See the problems above.'
    throw new Refusal('not_available', `Sessions can't start on this machine. ${why}`)
  },
})

/** A thousand projects take a second; starting the database first takes longer. */
const rotateMs = 600_000

interface Rotation {
  finished_earlier: boolean
  master_key_id: string
  previous_master_key_ids: string[]
  master_key_file: string
  projects: number
  moved: number
  servers: number
}

export const rotateKey = command({
  summary: 'Replace the master key, whether your server is running or not',
  about: [
    'Sessions and requests continue: a running server loads the new key at its next start. The old key then decrypts nothing in the database. After an interruption the server still starts; run the command again to finish.',
    "Run it on the server's machine with the server's settings: those of svc self-host env, or the same SVC_DATA_DIR, SVC_MASTER_KEY_FILE and DATABASE_URL.",
  ],
  scope: 'nothing',
  examples: ['svc self-host rotate-key', 'SVC_DATA_DIR=/srv/svc svc self-host rotate-key --json'],
  async run(ctx) {
    const { out } = ctx
    const rotation = await rotate(ctx)
    if (out.json) return out.document(rotation)
    const before = rotation.previous_master_key_ids.join(', ')
    out.line(
      green('✓ '),
      rotation.finished_earlier ? 'Finished the interrupted rotation of the master key: ' : 'Replaced the master key: ',
      dim(before),
      dim(' → '),
      bold(rotation.master_key_id),
    )
    const { projects, moved } = rotation
    out.fields([
      ['file', rotation.master_key_file],
      [
        'checked',
        `${projects} ${projects === 1 ? 'project' : 'projects'}${moved > 0 ? `, ${moved} moved below the root key` : ''}`,
      ],
      ['servers', rotation.servers === 0 ? 'none runs' : `${rotation.servers} running, which go on`],
    ])
    out.note(
      'Back up the new key file now, separately from the data. Copy it to every other machine that uses this database before a server restarts there.',
    )
    out.note(`Earlier backups of the database need ${before}: keep that key only with them.`)
  },
})

async function rotate(ctx: Context): Promise<Rotation> {
  return await askServerProgram<Rotation>(ctx, '--rotate-key', {
    ms: rotateMs,
    otherwise: 'The master key could not be replaced.',
  })
}
