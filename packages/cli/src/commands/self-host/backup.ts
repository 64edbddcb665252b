/** Backups of a server on this machine. The server's own program makes them, beside a running server or without one. */
import { homedir } from 'node:os'
import { resolve } from 'node:path'
import { count } from '@svc/contract/count'
import {
  type BackupList,
  type BackupReport,
  type CheckReport,
  type MissingRepository,
  type RemovalRefused,
  type RemovalReport,
  type RestoreRefused,
  type RestoreReport,
  type ResumeReport,
  unfinishedBackup,
} from '@svc/contract/daemon/operator-reports'
import { isS3Address } from '@svc/contract/schemas/backup-address'
import { sizeText } from '@svc/contract/schemas/quotas'
import { command } from '../../arguments/command.ts'
import { addresses, type Env, quote, withSettings } from '../../arguments/shell-word.ts'
import type { Context } from '../../context.ts'
import { Refusal, UsageError } from '../../errors.ts'
import { sleep } from '../../io.ts'
import { askServer } from '../../self-host/ask-owner-link.ts'
import { askServerProgram } from '../../self-host/ask-program.ts'
import { askWithProgress } from '../../self-host/ask-with-progress.ts'
import { dataDirOf, noteFolderOfShell, serverEnvironment } from '../../self-host/environment.ts'
import { refuseEmptyUrl } from '../../self-host/empty-database-url.ts'
import { freePortFrom } from '../../self-host/free-port.ts'
import { selfHostFile } from '../../self-host/self-host-file.ts'
import { backupKeyOfServer } from '../../self-host/server-key-file.ts'
import { readSettings } from '../../self-host/settings.ts'
import { confirm } from '../../terminal/ask.ts'
import { bold, dim, green, red, yellow } from '../../terminal/output.ts'

export const backup = command({
  summary: 'Back up your server to a folder, an S3 bucket or one file, while it runs or while it is stopped',
  about: [
    'A backup has the database, every managed repository, the unfinished work of all projects, and the sealed keys, all as of one moment. The first backup of a folder or a bucket copies everything, later ones only what changed. After an interruption, run the command again: it goes on, and earlier backups stay whole.',
    'An address that ends in .tar is a new file with one full backup, to hand on or to keep elsewhere. The file appears once it is whole. No existing file is overwritten, and --keep does not apply.',
    'The master key is not part of a backup, and nobody can open its secrets without it: keep a copy of SVC_MASTER_KEY_FILE in another place.',
    'For a bucket of an S3-compatible store, set SVC_BACKUP_S3_ENDPOINT (unset: Amazon S3), SVC_BACKUP_S3_REGION, and AWS_ACCESS_KEY_ID with AWS_SECRET_ACCESS_KEY or SVC_BACKUP_S3_CREDENTIALS_FILE.',
    "Run it on the server's machine with the server's settings: those of svc self-host env, or the same SVC_DATA_DIR and DATABASE_URL. Exit code 1 if a repository could not be read; the backup has everything else.",
    'With several servers, the backup has the repositories at home on this server, and those of which it keeps a copy. It warns of the others: back up on their servers, too, each to a place of its own.',
  ],
  scope: 'nothing',
  args: { place: { summary: 'A folder on another disk, s3://bucket/prefix, or a new .tar file', names: 'file' } },
  flags: {
    encrypt: {
      kind: 'text',
      value: 'key-file',
      summary:
        'Encrypt it for this age key (default: that of SVC_BACKUP_KEY_FILE, here or of the running server). The file is made if it is missing; a file with only the age1… recipient works',
      names: 'file',
    },
    keep: {
      kind: 'text',
      value: 'count|age',
      summary: 'Then remove older backups: keep so many (30), or those so young (14d)',
    },
    claim: {
      kind: 'switch',
      summary:
        'Use a place whose earlier backups are lost, or belong to a server of this installation that is gone, from now on',
    },
  },
  examples: [
    'svc self-host backup /mnt/backups',
    'svc self-host backup /mnt/backups --encrypt ~/svc-backups.key --keep 30d',
    'svc self-host backup s3://backups/svc --json',
    'svc self-host backup /mnt/svc-2026-11-27.tar',
  ],
  async run(ctx, { args, flags }) {
    const { out } = ctx
    // Without an m, by which someone may mean months. The server refuses hours that are no day.
    if (flags.keep !== undefined && !/^[1-9]\d{0,5}[hdw]?$/.test(flags.keep))
      throw new UsageError(
        `--keep is a count of backups such as 30, or an age of at least a day such as 14d or 8w, not ${flags.keep}`,
      )
    const env = await serverEnvironment(ctx)
    const serverKeyFile = await backupKeyOfServer(env)
    const input = {
      place: placeOf(args.place),
      keyFile: flags.encrypt === undefined ? null : resolve(flags.encrypt),
      serverKeyFile,
      keep: flags.keep ?? null,
      claim: flags.claim,
    }
    const done = await askWithProgress<BackupReport>(ctx, '--backup', {
      input,
      otherwise: 'The backup was interrupted. Earlier ones are whole; run the command again.',
    })
    if (out.json) out.document(done)
    else {
      out.line(green('✓ '), 'Backed up: ', bold(done.backup_id))
      out.fields([
        ['place', done.place],
        ['database', `${count(done.rows, 'row')} of ${count(done.tables, 'table')}`],
        ['repositories', count(done.repositories, 'repository')],
        ['added', sizeText(done.added_bytes)],
        ['encrypted', done.encrypted ? 'yes' : 'no'],
        [
          'backups',
          `${done.backups} in this place${done.removed.length > 0 ? `, ${done.removed.length} removed` : ''}`,
        ],
      ])
      if (done.made_key)
        out.warn(`${done.key_file} opens these backups. Keep a copy of it apart from them: without it they are lost.`)
      if (!done.encrypted && (serverKeyFile ?? env.SVC_BACKUP_KEY_FILE))
        out.warn(
          `This backup is not encrypted, although SVC_BACKUP_KEY_FILE is set: ${done.place} has plain backups. Choose another place for encrypted ones.`,
        )
      for (const { backup_id, says } of done.damaged)
        out.warn(`The backup ${backup_id} is damaged, so no unused packs were removed: ${says}`)
      if (done.retention_problem !== null) out.warn(`No backup was removed for its age: ${done.retention_problem}.`)
      if (done.master_key_problem !== null)
        out.warn(`A restore of this backup needs the master key: ${done.master_key_problem}`)
      out.note('The master key is not in it. Keep a copy of SVC_MASTER_KEY_FILE apart from the backups.')
    }
    refuseMissing(ctx, done.missing)
  },
})

function refuseMissing({ out }: Context, missing: MissingRepository[]): void {
  const ours = missing.filter(({ home }) => home === undefined)
  const elsewhere = missing.filter(({ home }) => home !== undefined)
  if (elsewhere.length > 0 && !out.json) {
    listMissing(out, elsewhere, yellow('! '))
    out.warn(
      `The backup is without ${count(elsewhere.length, 'repository')} at home on other servers. Back up on ${homesOf(elsewhere)}, too: a restore needs those backups as well.`,
    )
  }
  if (ours.length === 0) return
  if (!out.json) listMissing(out, ours)
  throw new Refusal(
    'not_available',
    `${count(ours.length, 'repository')} could not be read, so the backup is without them`,
    {
      hint: 'The backup has everything else.',
      next: ['svc self-host check'],
      detail: { missing: ours },
    },
  )
}

function homesOf(missing: MissingRepository[]): string {
  return [...new Set(missing.flatMap(({ home }) => home ?? []))].toSorted().join(', ')
}

function listMissing(out: Context['out'], missing: MissingRepository[], mark = red('✗ ')): void {
  for (const { project_id, slug, reason } of missing) out.line(mark, `${slug ?? project_id}: ${reason}`)
}

export const backups = command({
  summary: 'List the backups in a folder, an S3 bucket or a file, or remove some of them',
  about: [
    'Exit code 1 if one is damaged.',
    'A removal deletes the named backups and the files that no other backup needs. It writes nothing, so it also frees a place that is full. The last complete backup is removed only once you confirm it. --remove unfinished removes no backup, only what interrupted ones left.',
  ],
  scope: 'nothing',
  args: { place: { summary: 'The folder, s3://bucket/prefix or .tar file of svc self-host backup', names: 'file' } },
  flags: {
    verify: {
      kind: 'switch',
      summary: 'Read all files of these backups, and exit with 1 if one differs from its checksum. Needs no key',
    },
    remove: {
      kind: 'text',
      value: 'id',
      summary: 'Remove this backup, or what unfinished ones left; may be repeated',
      many: true,
    },
    yes: { kind: 'switch', summary: "Don't ask before the last complete backup is removed" },
  },
  examples: [
    'svc self-host backups /mnt/backups',
    'svc self-host backups /mnt/backups --remove 20261126T020000Z-0a1b2c3d',
    'svc self-host backups /mnt/backups --remove unfinished',
    'svc self-host backups s3://backups/svc --json',
    'svc self-host backups /mnt/backups --verify',
  ],
  async run(ctx, { args, flags }) {
    const { out } = ctx
    if (flags.remove.length > 0) {
      if (flags.verify) throw new UsageError('--remove and --verify are two commands')
      return removeNamed(ctx, { place: placeOf(args.place), ids: [...new Set(flags.remove)], yes: flags.yes })
    }
    const listed = await askWithProgress<BackupList>(ctx, '--list-backups', {
      input: { place: placeOf(args.place), verify: flags.verify },
      otherwise: 'The backups could not be listed.',
    })
    if (out.json) out.document(listed)
    else showBackups(ctx, listed)
    if (listed.damaged.length > 0)
      throw new Refusal(
        'not_available',
        `${count(new Set(listed.damaged.map(({ backup_id }) => backup_id)).size, 'backup')} in ${listed.place} cannot be restored as a whole`,
      )
    if (flags.verify && !out.json && listed.backups.length > 0) out.line(green('✓ '), 'Every file is as it was written')
  },
})

async function removeNamed(
  ctx: Context,
  { place, ids, yes }: { place: string; ids: string[]; yes: boolean },
): Promise<void> {
  const { out } = ctx
  const remove = (acceptLoss: boolean) =>
    askWithProgress<RemovalReport | RemovalRefused>(ctx, '--remove-backups', {
      input: { place, ids, acceptLoss },
      otherwise: 'The removal was interrupted. Run the command again.',
    })
  let done = await remove(yes)
  if ('staying' in done) {
    const ahead = done.staying.length > 0 ? ' that is not dated ahead' : ''
    const question = `This leaves no complete backup${ahead} in ${place}. Remove ${listOf(ids)}?`
    const named = ids.map((id) => ` --remove ${id}`).join('')
    await confirm(ctx, { question, yes, corrected: `svc self-host backups ${quote(place)}${named} --yes` })
    done = await remove(true)
  }
  if ('staying' in done) return
  if (out.json) return out.document(done)
  for (const id of done.removed) out.line(green('✓ '), 'Removed: ', bold(id))
  if (done.removed.length === 0) out.line(green('✓ '), `Removed ${sizeText(done.freed_bytes)} that no backup needs`)
  out.note(`${count(done.backups, 'backup')} in ${done.place}`)
  for (const { backup_id, says } of done.damaged)
    out.warn(`The backup ${backup_id} is damaged, so no unused packs were removed: ${says}`)
}

function listOf(ids: string[]): string {
  const names = ids.filter((id) => id !== unfinishedBackup)
  return (names.length < ids.length ? [...names, 'what unfinished backups left'] : names).join(' and ')
}

function showBackups({ out, next }: Context, listed: BackupList): void {
  const { removed } = listed
  if (removed.length > 0)
    out.note(`Removed while ${removed.length === 1 ? 'it was' : 'they were'} read: ${removed.join(', ')}`)
  else if (listed.backups.length + listed.damaged.length === 0) out.note(`No complete backup in ${listed.place} yet.`)
  for (const each of listed.backups)
    out.line(
      bold(each.backup_id),
      dim(`  ${out.time(each.created_at)}`),
      `  ${count(each.rows, 'row')}, ${count(each.repositories, 'repository')}, ${sizeText(each.added_bytes)} added`,
      each.encrypted ? dim(', encrypted') : '',
      each.dated_ahead ? yellow(', dated ahead of this clock') : '',
      each.missing > 0 ? yellow(`, without ${count(each.missing, 'repository')}`) : '',
      dim(`  svc ${each.server_version}, master key ${each.master_key_ids.join(' or ')}`),
    )
  for (const { backup_id, says } of listed.damaged) out.line(red('✗ '), bold(backup_id), `: ${says}`)
  if (listed.unneeded_bytes > 0)
    out.note(
      `${sizeText(listed.unneeded_bytes)} more are of no complete backup: an interrupted one left them, or one runs now. The next backup uses or removes them. To remove them now: ${next(`svc self-host backups ${quote(listed.place)} --remove ${unfinishedBackup}`)}`,
    )
}

export const restore = command({
  summary: 'Restore a backup into an empty data folder, and into its embedded database or an empty PostgreSQL',
  about: [
    'SVC_DATA_DIR names the empty folder, DATABASE_URL the empty PostgreSQL (unset: the embedded one), and SVC_MASTER_KEY_FILE the master key, which is not part of the backup. Refuses before it changes anything if one of them does not fit. After an interruption, run the command again: it begins anew.',
    'The backup of one of several servers has the repositories of that server. To restore the whole installation, give the places of all servers: the first gives the database, the others the repositories that it lacks. Refuses, with exit code 1, if no place has the repository of a project; --accept-loss restores everything else.',
    'Sessions that ran are stopped; their unfinished work is there. The restored server is held: it answers reads only, and no session, trigger, webhook, channel, app or check acts, so that it does nothing beside its original. svc self-host resume ends that.',
  ],
  scope: 'nothing',
  args: {
    place: {
      summary: 'The folder, s3://bucket/prefix or .tar file of svc self-host backup; of several servers one each',
      names: 'file',
      many: true,
    },
  },
  flags: {
    backup: {
      kind: 'text',
      value: 'id',
      summary: 'This backup of the first place, of svc self-host backups (default: the newest)',
    },
    key: {
      kind: 'text',
      value: 'key-file',
      summary:
        'The age identity that opens an encrypted backup (default: that of SVC_BACKUP_KEY_FILE); may be repeated',
      names: 'file',
      many: true,
    },
    'accept-loss': {
      kind: 'switch',
      summary: 'Restore without the repositories that no place has, or that are damaged there',
    },
  },
  examples: [
    'SVC_DATA_DIR=/srv/svc svc self-host restore /mnt/backups',
    'svc self-host restore svc-2026-11-27.tar',
    'svc self-host restore /mnt/backups --backup 20261126T020000Z-0a1b2c3d --key ~/svc-backups.key',
    'svc self-host restore s3://backups/server-1 s3://backups/server-2',
  ],
  async run(ctx, { args, flags }) {
    const { out } = ctx
    await refuseEmptyUrl(ctx)
    const done = await askWithProgress<RestoreReport | RestoreRefused>(ctx, '--restore', {
      input: {
        places: args.place.map(placeOf),
        backupId: flags.backup ?? null,
        keyFiles: flags.key.map((file) => resolve(file)),
        acceptLoss: flags['accept-loss'],
      },
      otherwise: 'The restore was interrupted. Run the command again, which begins anew.',
    })
    if ('lacking' in done) return refuseLacking(ctx, done, { places: args.place, keys: flags.key })
    if (out.json) return out.document(done)
    showRestored(ctx, done)
    out.note('The server is held: it answers reads only, and nothing acts.')
    if ((await settingsOfAnother(ctx, await serverEnvironment(ctx))) !== null)
      out.note(
        `The saved settings in ${selfHostFile(ctx, 'env')} apply to it, too. To give it its own, put SVC_CONFIG_FILE=<file> in front of these commands.`,
      )
    const env = await settingsOfCopy(ctx)
    out.note(`Next: ${ctx.next('svc self-host check')}`)
    out.note(`Then: ${withSettings('svc self-host start', env)}`)
    out.note(`Once its original is off: ${withSettings('svc self-host resume', env)}`)
    await noteFolderOfShell(ctx, { isCopy: true })
  },
})

function refuseLacking(
  { out, next }: Context,
  { lacking, complete }: RestoreRefused,
  { places, keys }: { places: string[]; keys: string[] },
): never {
  if (!out.json) listMissing(out, lacking)
  const homes = homesOf(lacking)
  const words = [...places.map(quote), `--backup ${complete}`, ...keys.map((key) => `--key ${quote(key)}`)]
  const where =
    homes === ''
      ? 'Choose another backup, or add the places with the backups of other servers'
      : `Add the places with the backups of ${homes}`
  const hints = [
    homes === '' && complete !== null ? null : `${where}: svc self-host restore <place> <place>….`,
    'If no backup has them, --accept-loss restores everything else.',
    complete === null ? null : `The newest complete one: ${next(`svc self-host restore ${words.join(' ')}`)}`,
  ].filter((hint) => hint !== null)
  throw new Refusal(
    'not_available',
    `Nothing was restored: the backup is without ${count(lacking.length, 'repository')}`,
    {
      hint: hints.join(' '),
      detail: { missing: lacking },
    },
  )
}

function showRestored({ out }: Context, done: RestoreReport): void {
  out.line(green('✓ '), 'Restored: ', bold(done.backup_id), dim(`  of ${out.time(done.created_at)}`))
  out.fields([
    ['data', done.data_dir],
    ['database', `${count(done.rows, 'row')} of ${count(done.tables, 'table')} in ${done.database}`],
    ['repositories', count(done.repositories, 'repository')],
    [
      'stopped',
      done.stopped_sessions === 0 ? null : `${count(done.stopped_sessions, 'session')} that ran in the original`,
    ],
  ])
  for (const { place, backup_id, created_at, repositories } of done.others) {
    const what = `${count(repositories, 'repository')} of ${place}`
    out.line(green('✓ '), what, dim(`  ${backup_id} of ${out.time(created_at)}`))
    if (repositories > 0 && Date.parse(created_at) < Date.parse(done.created_at))
      out.warn(`${what} may lack what happened before the database was backed up: svc self-host check shows that.`)
  }
  for (const { place, ids } of done.left_out)
    out.warn(
      `${place} has ${count(ids.length, 'backup')} dated later than the clock of this machine, which ${ids.length === 1 ? 'was' : 'were'} not taken as the newest: ${ids.join(', ')}. To restore one of them, choose it with --backup.`,
    )
  for (const { project_id, slug, reason } of done.missing)
    out.warn(`The backup is without the repository of ${slug ?? project_id}: ${reason}`)
  for (const { slug } of done.purged) out.note(`${slug} was purged while the backup was made, and is not restored.`)
}

/** The settings that a shell needs to start the copy. The original may run beside it and have the port and the addresses. */
async function settingsOfCopy(ctx: Context): Promise<Env> {
  const { env } = ctx.io
  const environment = await serverEnvironment(ctx)
  const { SVC_PORT: port = '8420', SVC_HOST: host = '127.0.0.1' } = environment
  const free = await freePortFrom(Number(port), host)
  const isTaken = free !== Number(port)
  const saved = await settingsOfAnother(ctx, environment)
  const cleared = addresses.filter((name) => environment[name] && (isTaken || (saved?.[name] && !env[name])))
  if (!isTaken && cleared.length === 0) return env
  return {
    ...{ ...env, SVC_DATA_DIR: dataDirOf(environment) },
    ...(isTaken ? { SVC_PORT: String(free) } : {}),
    ...Object.fromEntries(cleared.map((name) => [name, ''])),
  }
}

/** The saved settings, where they are those of another data folder. With SVC_CONFIG_FILE, someone chose them. */
async function settingsOfAnother({ configPath, io }: Context, environment: Record<string, string>) {
  const saved = await readSettings({ configPath })
  if (saved === null || Object.keys(saved).length === 0 || io.env.SVC_CONFIG_FILE) return null
  const own = dataDirOf({ ...(io.env.HOME ? { HOME: io.env.HOME } : {}), ...saved })
  return own === dataDirOf(environment) ? null : saved
}

export const resume = command({
  summary: 'Let a restored server act again: sessions, triggers, webhooks, channels, apps and checks',
  about: [
    'Turn its original off first: both would fire the same triggers, post the same messages and merge on the same hosts. A running server goes on within a second, without a restart.',
  ],
  scope: 'nothing',
  examples: ['svc self-host resume', 'SVC_DATA_DIR=/srv/svc svc self-host resume --json'],
  async run(ctx) {
    const { out } = ctx
    const done = await askServerProgram<ResumeReport>(ctx, '--resume', {
      ms: 0,
      otherwise: 'The server could not be resumed.',
    })
    await untilLifted(ctx)
    if (out.json) return out.document(done)
    if (!done.resumed) return out.note('Nothing is held here.')
    out.line(green('✓ '), 'Resumed: everything acts again')
    out.warn('If its original still runs, stop it now: both act, and only one of them should.')
    const { SVC_BACKUP_DIR: place, SVC_BACKUP_KEY_FILE: key } = await serverEnvironment(ctx)
    if (place) {
      const encrypt = key ? ` --encrypt ${quote(key)}` : ''
      const claim = `svc self-host backup ${quote(placeOf(place))}${encrypt} --claim`
      out.note(`If ${place} has the backups of its original, go on there: ${ctx.next(claim)}`)
    }
    const start = withSettings('svc self-host start', await withItsPort(ctx))
    out.note(`To make it the host selfhost of this client: ${start}`)
    await noteFolderOfShell(ctx, { isCopy: false })
  },
})

/** A shell in which the copy was not started need not have its port. */
async function withItsPort(ctx: Context): Promise<Env> {
  const url = (await askServer(ctx))?.own_url ?? null
  const port = url === null ? '' : new URL(url).port
  const { SVC_PORT: next = '8420' } = await serverEnvironment(ctx)
  return port === '' || port === next ? ctx.io.env : { ...ctx.io.env, SVC_PORT: port }
}

const liftedMsMax = 10_000
const lookEveryMs = 200

/** A running server looks every second whether it is still held. */
async function untilLifted(ctx: Context): Promise<void> {
  const deadline = ctx.io.now() + liftedMsMax
  while (((await askServer(ctx))?.held ?? null) !== null && ctx.io.now() < deadline)
    await sleep(lookEveryMs, ctx.io.signal)
}

export const check = command({
  summary: 'Compare the database, the repositories and the stored work of your server, and show what disagrees',
  about: [
    'Reads rows, refs, receipts, unfinished work, attachments and keys side by side, and lets git check every repository. Changes nothing, and the server may run. Exit code 1 if something disagrees.',
    'With several servers, run it on each: it reads the repositories of the projects whose home is this server.',
  ],
  scope: 'nothing',
  examples: ['svc self-host check', 'svc self-host check --json'],
  async run(ctx) {
    const { out } = ctx
    const found = await askWithProgress<CheckReport>(ctx, '--check', {
      input: {},
      otherwise: 'The check was interrupted.',
    })
    if (out.json) out.document(found)
    else for (const { says } of found.disagreements) out.line(red('✗ '), says)
    const { disagreements, projects, repositories, elsewhere } = found
    if (!out.json && elsewhere.projects > 0)
      out.note(
        `${count(elsewhere.projects, 'project')} ${elsewhere.projects === 1 ? 'has its' : 'have their'} home on other servers (${elsewhere.homes.join(', ')}): run this command there to check ${elsewhere.projects === 1 ? 'it' : 'them'}.`,
      )
    const read = `${count(projects, 'project')} and ${count(repositories, 'repository')}`
    if (disagreements.length > 0)
      throw new Refusal('not_available', `${count(disagreements.length, 'disagreement')} in ${read}`, {
        hint: 'The page "Backup and restore" of the docs says what to do about each kind: /docs/operate/backup#check on your server.',
      })
    if (out.json) return
    const isHomeOfNone = projects === 0 && elsewhere.projects > 0
    out.line(
      green('✓ '),
      isHomeOfNone ? 'The database agrees. This server is the home of no project.' : `${read} agree`,
    )
  },
})

/** A relative folder begins where the command runs. The address of a bucket stays as it is. A shell leaves ~ in quotes. */
function placeOf(text: string): string {
  if (text === '-')
    throw new UsageError('A backup cannot pass through a pipe. Name a file that ends in .tar, and copy that file.')
  return isS3Address(text) ? text : resolve(text.replace(/^~(?=\/|$)/, homedir()))
}
