/** The settings of the server of this machine: those of the shell first, then the saved ones. */
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { isS3Address } from '@svc/contract/schemas/backup-address'
import { quote } from '../arguments/shell-word.ts'
import type { Context } from '../context.ts'
import { assignment, fingerprints, readSettings, withAbsolutePaths } from './settings.ts'

/** Variables of the client alone. */
const notForTheServer = ['SVC_CLI_TOKEN', 'SVC_EXECUTOR_TOKEN', 'SVC_API_URL', 'SVC_PROJECT_ID', 'SVC_DASHBOARD_URL']

/** From the shell first, then from the settings file. */
export async function serverEnvironment(ctx: Context): Promise<Record<string, string>> {
  const { DATABASE_URL: url, ...shell } = withAbsolutePaths(ctx.io.env, ctx.io.cwd)
  // Commands that earlier versions printed set it to nothing in a shell that does not have it.
  const given = Object.entries({ ...(await readSettings(ctx)), ...shell, ...(url ? { DATABASE_URL: url } : {}) })
  return Object.fromEntries(
    given.filter((entry): entry is [string, string] => entry[1] !== undefined && !notForTheServer.includes(entry[0])),
  )
}

/** A start of the server from elsewhere would lack the settings that only this shell has. */
export async function warnOfUnkept(ctx: Context, start: string): Promise<void> {
  const unkept = await unkeptSettings(ctx)
  if (unkept.length === 0) return
  const words = unkept.map((name) => assignment(name, ctx.io.env[name]!))
  ctx.out.warn(
    `${unkept.join(', ')} ${unkept.length === 1 ? 'is' : 'are'} set only in this shell. For ${start}: svc self-host env set ${words.join(' ')}`,
  )
}

async function unkeptSettings(ctx: Context): Promise<string[]> {
  const kept = fingerprints((await readSettings(ctx)) ?? {})
  // Other programs use these variables, too.
  const isBucket = isS3Address((await serverEnvironment(ctx)).SVC_BACKUP_DIR ?? '')
  const shell = Object.entries(ctx.io.env).filter((entry): entry is [string, string] => entry[1] !== undefined)
  return Object.entries(fingerprints(Object.fromEntries(shell)))
    .filter(([name, hash]) => kept[name] !== hash)
    .map(([name]) => name)
    .filter((name) => !name.startsWith('AWS_') || isBucket)
}

/** The data folder of the saved settings, without those of the shell. */
export async function savedFolder({ io, configPath }: Pick<Context, 'io' | 'configPath'>): Promise<string> {
  const saved = await readSettings({ configPath, skipsBrokenLines: true }).catch(unreadable)
  return dataDirOf({ ...(io.env.HOME ? { HOME: io.env.HOME } : {}), ...saved })
}

/** Commands that need the settings say so. Others, such as a stop, do without them. */
function unreadable(): null {
  return null
}

/** Where this shell alone leads to the data folder, so that a later start without it uses another one. */
export async function noteFolderOfShell(ctx: Context, { isCopy }: { isCopy: boolean }): Promise<void> {
  const { io, out } = ctx
  if (!io.env.SVC_DATA_DIR || (await readSettings(ctx)) === null) return
  const [own, saved] = [dataDirOf(await serverEnvironment(ctx)), await savedFolder(ctx)]
  if (own === saved) return
  out.note(`SVC_DATA_DIR is set only in this shell. Commands and starts without it use ${saved}.`)
  out.note(
    `${isCopy ? 'If this server replaces that one, save it after the resume' : 'To save it'}: ${saveFolder(ctx, own)}`,
  )
}

export function saveFolder({ io }: Pick<Context, 'io'>, dataDir: string): string {
  const { SVC_CONFIG_FILE: config } = io.env
  return `${config ? `SVC_CONFIG_FILE=${quote(config)} ` : ''}svc self-host env set SVC_DATA_DIR=${quote(dataDir)}`
}

export function dataDirOf(env: Readonly<Record<string, string>>): string {
  return resolve(env.SVC_DATA_DIR || join(env.HOME || homedir(), '.local/share/svc'))
}

/** Where a server with these settings, started here, writes its log. */
export function logOf(env: Readonly<Record<string, string>>): string {
  return join(dataDirOf(env), 'log', 'server.log')
}
