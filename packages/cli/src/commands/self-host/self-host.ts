import { existsSync } from 'node:fs'
import { count } from '@svc/contract/count'
import type { RotationReport } from '@svc/contract/daemon/operator-reports'
import {
  type DatabaseInfo,
  type DoctorFinding,
  type DoctorReport,
  driversAlone,
} from '@svc/contract/daemon/owner-socket'
import { command } from '../../arguments/command.ts'
import { quote, withCommands } from '@svc/contract/shell-words'
import type { Context } from '../../context.ts'
import { Refusal, UsageError } from '../../errors.ts'
import { askExamination, askMasterKey, askOwnerLink, askSilent } from '../../self-host/ask-owner-link.ts'
import { askServerProgram } from '../../self-host/ask-program.ts'
import {
  askRunning,
  type Found,
  noteContinue,
  noteTrouble,
  notResponding,
  silentMs,
  troubleOf,
} from '../../self-host/ask-running.ts'
import { changedSettings, warnOfChanges } from '../../self-host/changed-settings.ts'
import { dataDirOf, logOf, noteFolderOfShell, serverEnvironment } from '../../self-host/environment.ts'
import { writeSettings } from '../../self-host/settings.ts'
import {
  findingOfBroken,
  problemsOfNextStart,
  warnOfBroken,
  warnOfInvalid,
  withoutBrokenLines,
  withoutInvalid,
} from '../../self-host/invalid-settings.ts'
import { type OtherUser, otherUserOf } from '../../self-host/foreign-server.ts'
import { folderHolder } from '../../self-host/folder-holder.ts'
import { lastFailure } from '../../self-host/log-lines.ts'
import { noteBeside } from '../../self-host/note-beside.ts'
import { withKeyFileOfServer } from '../../self-host/server-key-file.ts'
import { startedServer } from '../../self-host/serving-server.ts'
import { isPaused, leftServer, runningServer, type ServerState } from '../../self-host/state.ts'
import { leftRunning } from '../../self-host/what-runs.ts'
import { askSettings } from '../../self-host/wizard.ts'
import { bold, dim, green, type Piece, red, type Styled, yellow } from '../../terminal/output.ts'

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
    if ((await runningServer(ctx)) !== null)
      ctx.out.note(
        `Applies at the next start: ${ctx.next('svc self-host stop')}, then ${ctx.next('svc self-host start')}`,
      )
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
  async run(given) {
    const { ctx, broken } = await withoutBrokenLines(given)
    const { out } = ctx
    const { started, server, silent, changed, other } = await findServer(ctx)
    if (silent !== null) return showSilent(ctx, silent)
    const left = server === null ? await leftServer(ctx) : null
    const answers = server === null ? null : await askRunning(server, silentMs)
    const { atUrl = null, ready = null, own = null, paused = false, database = null } = answers ?? {}
    // The settings that a server runs with are valid.
    const invalid = server === null || changed.length > 0 ? await problemsOfNextStart(ctx) : []
    const stopped = server === null ? await whyStopped(ctx, left) : null
    if (out.json)
      return out.document({
        ...{ running: server !== null, ready: atUrl !== null && !paused, paused, facts: ready },
        last_error: stopped?.error ?? null,
        server: server === null ? null : { ...answers?.info, ...server },
        answers_at: own?.url ?? null,
        ...{ started_by_self_host: started !== null, left },
        ...{ changed_settings: changed.map(({ name }) => name), setting_changes: changed },
        invalid_settings: [...(broken === null ? [] : [broken.message]), ...invalid.map(({ says }) => says)],
      })
    if (server === null || answers === null) {
      await showStopped(ctx, left, stopped!)
      warnOfBroken(ctx, broken)
      return warnOfInvalid(ctx, invalid)
    }
    const held = answers.info?.held ?? null
    const starting = server.url === null && !paused && ready === null ? yellow('starting') : null
    const trouble = troubleOf(answers)
    out.fields([
      ['server', starting ?? (trouble === null ? green('running') : yellow(trouble))],
      ['address', server.url],
      ['process', String(server.pid)],
      ['started', started !== null ? out.time(started.started_at) : startedElsewhere(other)],
      ['version', ready?.version ?? null],
      ['program', server.program ?? null],
      [
        'sandboxes',
        ready === null ? null : ready.sandbox.ready ? ready.sandbox.driver : (ready.sandbox.problem ?? 'none'),
      ],
      ['model', ready?.model ?? null],
      ['apps', ready?.providers.apps ?? null],
      ['connectors', ready?.providers.connectors ?? null],
      ['held', held === null ? null : yellow(heldText(held))],
      ['data', server.data_dir],
      ['disk', ready?.disk?.problem == null ? null : red(ready.disk.problem)],
      ['database', database === null ? null : databaseWords(database)],
      ['log', started?.log ?? null],
    ])
    warnOfBroken(ctx, broken)
    warnOfChanges(ctx, changed)
    await warnOfInvalid(ctx, invalid)
    await noteFolderOfShell(ctx, { isCopy: held !== null })
    if (held !== null) out.note(`Once its original is off: ${ctx.next('svc self-host resume')}`)
    if (starting !== null) out.note(lookAgain)
    if (other !== null && other !== 'container')
      out.note(`How it was started, and its settings: ${other.command('status')}`)
    noteTrouble(ctx, server, answers)
  },
})

const heldText = ({ backup_created_at: at }: { backup_created_at: string }) =>
  `restored from a backup of ${at}: it answers reads only, and nothing acts`

function startedElsewhere(other: OtherUser | 'container' | null): string {
  if (other === 'container') return 'in another container of this machine'
  return other === null ? 'not started by svc self-host' : `by ${other.name}`
}

function databaseWords({ kind, address, problem, read_only: isReadOnly }: DatabaseInfo): Piece[] {
  const name = kind === 'embedded' ? 'embedded PostgreSQL' : `PostgreSQL ${address}`
  const trouble = problem ?? (isReadOnly === true ? 'read-only' : null)
  return trouble === null ? [name] : [`${name}  `, red(trouble)]
}

const lookAgain = 'Look again in a moment. If it stays so, its log says why.'

/** Something else than `svc self-host` started it, and it holds its data folder without an answer. */
async function showSilent(ctx: Context, dataDir: string): Promise<void> {
  const { out } = ctx
  const pid = await folderHolder(dataDir)
  const paused = pid !== null && (await isPaused(pid))
  if (out.json)
    return out.document({
      ...{ running: true, ready: false, paused, server: { pid, url: null, data_dir: dataDir }, facts: null },
      ...{ started_by_self_host: false, left: null, changed_settings: [], setting_changes: [] },
    })
  out.fields([
    ['server', yellow(notResponding(paused))],
    ['process', pid === null ? null : String(pid)],
    ['started', 'not started by svc self-host'],
    ['data', dataDir],
  ])
  if (paused) return noteContinue(ctx, pid)
  out.note(`It starts, stops, or is overloaded. ${lookAgain}`)
}

/** The last failed start, or the end of a server that ended by itself. */
async function whyStopped(ctx: Context, left: ServerState | null) {
  const log = left?.log ?? logOf(await serverEnvironment(ctx))
  return { log: left !== null || existsSync(log) ? log : null, error: await lastFailure(log) }
}

async function showStopped(ctx: Context, left: ServerState | null, why: { log: string | null; error: string | null }) {
  const { out } = ctx
  const folder = left?.data_dir ?? dataDirOf(await serverEnvironment(ctx))
  out.fields([
    ['server', red(left === null ? 'not running' : 'not running: it ended without svc self-host stop')],
    ['process', left === null ? null : `${left.pid}, which has ended`],
    ['data', existsSync(folder) ? folder : [`${folder}  `, red('does not exist')]],
    ['last error', why.error === null ? null : red(withCommands(why.error, ctx.next))],
    ['log', why.log],
  ])
  if (why.error !== null) out.note(`To read what came before it: ${ctx.next('svc self-host logs')}`)
  if (left !== null) out.note(await leftRunning(ctx))
  await noteFolderOfShell(ctx, { isCopy: false })
  await noteBeside(ctx, 'svc self-host status')
  // The same start would fail again.
  out.note(`${why.error === null ? 'Next' : 'Once the last error is fixed'}: ${ctx.next('svc self-host start')}`)
}

/** Finds the server by its state file, or by the socket of its data folder, and the settings that its next start changes. */
async function findServer(ctx: Context) {
  const started = await startedServer(ctx)
  const found: Found | { silentIn: string } | null = started ?? (await askSilent(ctx, silentMs))
  const isSilent = found !== null && 'silentIn' in found
  const server = isSilent ? null : found
  const other = server === null || started !== null ? null : await otherUserOf(server)
  // A line that cannot be parsed may have any setting, so nothing is known of the next start. Nor of that of others.
  const changed =
    server === null || other !== null || ctx.skipsBrokenLines === true
      ? []
      : await changedSettings(ctx, { pid: server.pid, state: started })
  return { started, server, silent: isSilent ? found.silentIn : null, changed, other }
}

const doctorMs = 60_000

const marks: Record<DoctorFinding['state'], Styled> = {
  good: green('✓ '),
  weak: yellow('! '),
  missing: red('✗ '),
}

export const doctor = command({
  summary: 'Check this machine: whether sessions can start, how well they are isolated, how to fix problems',
  about: [
    'A running server examines itself, with the settings that it runs with. Without one, the findings are of the settings of the next start. Leaves nothing running. Exit code 1 if a check fails (✗), except those of sandboxes that sessions do not use.',
  ],
  scope: 'nothing',
  examples: ['svc self-host doctor', 'svc self-host doctor --json'],
  async run(given) {
    const { ctx, broken } = await withoutBrokenLines(given)
    const { out } = ctx
    const { server, silent, changed } = await findServer(ctx)
    const ofServer = server === null ? null : await askExamination(server.data_dir, silentMs)
    const examined = await examineMachine(ctx, ofServer === null ? [] : [driversAlone])
    const ofMachine = broken === null ? examined : withBroken(examined, broken)
    const report = ofServer === null ? ofMachine : withOtherDrivers(ofServer, ofMachine)
    const isUnanswered = ofServer === null && (server !== null || silent !== null)
    if (isUnanswered) out.warn('The running server gave no findings. These are of the settings of the next start:')
    if (out.json) out.document({ ...report, setting_changes: changed })
    else {
      for (const { name, findings } of report.drivers) {
        out.line(bold(name), name === report.driver ? dim('  what sessions get') : '')
        for (const finding of findings) showFinding(ctx, finding)
        out.line()
      }
      for (const { name, findings } of report.groups) {
        out.line(bold(name))
        for (const finding of findings) showFinding(ctx, finding)
        out.line()
      }
      warnOfChanges(ctx, changed)
    }
    const failed = failedIn(report)
    if (report.ready && failed.length === 0)
      return out.note(
        isUnanswered ? 'With the settings of the next start, sessions can start here.' : 'Sessions can start here.',
      )
    const why = report.driver === null ? 'SVC_SANDBOX_DRIVER is none.' : 'The checks marked ✗ say why.'
    throw new Refusal(
      'not_available',
      report.ready
        ? `Sandboxes can start on this machine, but ${count(failed.length, 'check')} failed: ${failed.join(', ')}.`
        : `Sessions can't start on this machine. ${why}`,
    )
  },
})

/** With invalid settings the program examines nothing, so the rest is examined without them. */
async function examineMachine(ctx: Context, more: string[]): Promise<DoctorReport> {
  const asked = { ms: doctorMs, otherwise: 'The check of this machine failed.', more }
  try {
    return await askServerProgram<DoctorReport>(ctx, '--doctor', asked)
  } catch (error) {
    const valid = await withoutInvalid(ctx, error)
    if (valid === null) throw error
    const report = await askServerProgram<DoctorReport>(ctx, '--doctor', { ...asked, env: valid.env })
    return { ...report, groups: [{ name: 'settings', findings: valid.findings }, ...report.groups] }
  }
}

function withBroken({ groups, ...report }: DoctorReport, broken: Refusal): DoctorReport {
  return { ...report, groups: [{ name: 'settings file', findings: [findingOfBroken(broken)] }, ...groups] }
}

/** A server examines only the driver that it uses. */
function withOtherDrivers(ofServer: DoctorReport, { drivers, groups }: DoctorReport): DoctorReport {
  const others = drivers.filter(({ name }) => name !== ofServer.driver)
  return { ...ofServer, drivers: [...ofServer.drivers, ...others], groups: [...groups, ...ofServer.groups] }
}

/** A machine needs only the sandboxes that sessions get. */
function failedIn({ driver, drivers, groups }: DoctorReport): string[] {
  const parts = [...drivers.filter(({ name }) => name === driver), ...groups]
  return parts.flatMap(({ findings }) => findings.filter(({ state }) => state === 'missing').map(({ name }) => name))
}

function showFinding({ out, next }: Context, { name, state, says, mend }: DoctorFinding): void {
  out.line('  ', marks[state], `${name}: ${says}`)
  if (mend !== null) out.line('      ', dim(withCommands(mend, next)))
}

/** A thousand projects take a second; starting the database first takes longer. */
const rotateMs = 600_000

export const rotateKey = command({
  summary: 'Replace the master key, whether your server is running or not',
  about: [
    'Sessions and requests continue: a running server loads the new key at its next start. The old key then decrypts nothing in the database. After an interruption the server still starts; run the command again to finish.',
    'If the file of the key is gone, a running server writes it again first.',
    "Run it on the server's machine with the server's settings: those of svc self-host env, or the same SVC_DATA_DIR, SVC_MASTER_KEY_FILE and DATABASE_URL.",
  ],
  scope: 'nothing',
  examples: ['svc self-host rotate-key', 'SVC_DATA_DIR=/srv/svc svc self-host rotate-key --json'],
  async run(ctx) {
    const { out } = ctx
    if (await askMasterKey(ctx))
      out.warn('The file of the master key was gone. The running server wrote its key again, which is replaced now.')
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
      ['earlier key', rotation.previous_master_key_files.join(', ') || null],
      ['checked', `${count(projects, 'project')}${moved > 0 ? `, ${moved} moved below the root key` : ''}`],
      ['servers', rotation.servers === 0 ? 'none runs' : `${rotation.servers} running, which go on`],
    ])
    out.note(
      'Back up the new key file now, separately from the data. Copy it to every other machine that uses this database before a server restarts there.',
    )
    warnOfOthers(ctx, rotation)
    out.note(
      rotation.previous_master_key_files.length === 0
        ? `Earlier backups need ${before}: keep that key only with them.`
        : 'Backups from before need the earlier key. Delete its file once svc self-host backups <place> names it no more, and move it away from this machine if you like.',
    )
  },
})

/** Their servers go on until the next start, which the new key would refuse. */
function warnOfOthers({ out }: Context, rotation: RotationReport): void {
  const { other_data_dirs: folders, previous_master_key_files: kept, previous_master_key_ids: ids } = rotation
  const earlier = kept.length === 0 ? `the key ${ids.join(' or ')}` : kept.map(quote).join(' or ')
  for (const folder of folders)
    out.warn(
      `A server on ${folder} used a master key in the same folder. If it used this one, its next start needs the earlier key: copy ${earlier} to a file of another name, and set SVC_MASTER_KEY_FILE of that server to the copy.`,
    )
}

async function rotate(ctx: Context): Promise<RotationReport> {
  return await askServerProgram<RotationReport>(ctx, '--rotate-key', {
    ms: rotateMs,
    env: await withKeyFileOfServer(await serverEnvironment(ctx)),
    otherwise: 'The master key could not be replaced.',
  })
}
