/** The folder of the server's sockets and sandboxes, private to its user. */
import { constants, existsSync } from 'node:fs'
import { lstat, mkdir, mkdtemp, open, readdir, readFile, rename, rm, rmdir, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { foreignFolderRefusal } from '@svc/contract/folder-owner'
import { userName } from '@svc/sandbox'
import type { Config } from '../config.ts'
import { knownUsers, programWords } from './foreign-file.ts'
import { StartupError } from './startup-error.ts'

/** The kernel's limit for the path of a unix socket. */
const socketPathBytesMax = 107
/** sandboxes/containers/<id>/daemon.sock, as far as it is longer than relay.sock. */
const longestBelow = 60
/** A file in the data folder that records a run folder elsewhere, so that the next start finds the same one. */
const recordName = 'run-folder'
/** A file in such a run folder that records its data folder: a copy of the data folder names the same run folder. */
const ownerName = 'data-folder'

/**
 * Sockets need a short path, so a long data folder has its run folder elsewhere: in the user's runtime folder, or in
 * the temporary folder under a random name. Another user could have taken a predictable name. A data folder that was
 * moved to a short path keeps that one until the sandboxes in it have ended.
 */
export async function makeRunDir(config: Pick<Config, 'dataDir' | 'runtimeDir'>): Promise<string> {
  await makeDataDir(config.dataDir)
  const inData = join(config.dataDir, 'run')
  const former = await recordedRunDir(config)
  const isWanted = former !== null && (!fits(inData) || ((await hasSandboxes(former)) && !(await hasSandboxes(inData))))
  if (isWanted && (await isPrivate(former)) && (await claim(former, config.dataDir))) return former
  if (fits(inData)) return makeOwn(inData)
  const made = (await makeInRuntimeDir(config)) ?? (await mkdtemp(join(await temporaryFolder(), 'svc-run-')))
  await claim(made, config.dataDir)
  await replaceFile(join(config.dataDir, recordName), made)
  return made
}

/** After someone removed it below the running server. It keeps its path, which sandboxes have. */
export async function remakeRunDir({ dataDir }: Pick<Config, 'dataDir'>, runDir: string): Promise<void> {
  await makeOwn(runDir)
  if (runDir !== join(dataDir, 'run')) await claim(runDir, dataDir)
}

/** Binds the run folder to the data folder. False when it belongs to another one. An earlier version bound none. */
async function claim(runDir: string, dataDir: string): Promise<boolean> {
  const { dev, ino } = await stat(dataDir, { bigint: true })
  const file = join(runDir, ownerName)
  const owner = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw error
  })
  if (owner === null) await replaceFile(file, `${dev}:${ino}`)
  return owner === null || owner === `${dev}:${ino}`
}

/** A process killed in between leaves the whole text or none. */
async function replaceFile(file: string, text: string): Promise<void> {
  await writeFile(`${file}.new`, text, { mode: 0o600 })
  await rename(`${file}.new`, file)
}

/** The run folder outside the data folder; null when there is none. */
export async function recordedRunDir(config: Pick<Config, 'dataDir'>): Promise<string | null> {
  const text = await readFile(join(config.dataDir, recordName), 'utf8').catch(() => '')
  return text.startsWith('/') ? text : null
}

/** Removes a run folder that was just made, and the data folder if that has nothing else. */
export async function removeRunDir({ dataDir }: Pick<Config, 'dataDir'>, runDir: string): Promise<void> {
  for (const path of [runDir, join(dataDir, recordName)]) await rm(path, { recursive: true, force: true })
  if ((await readdir(dataDir)).length === 0) await rmdir(dataDir)
}

/** Removes what no sandbox needs. While one lives, the folders of the sockets stay, because it has them mounted. */
export async function tidyRunDir(runDir: string): Promise<void> {
  if (await hasSandboxes(runDir)) return
  for (const name of ['sandboxes', 'egress', 'relay']) await rm(join(runDir, name), { recursive: true, force: true })
}

async function hasSandboxes(runDir: string): Promise<boolean> {
  const records = ['run', 'containers'].map((name) => readdir(join(runDir, 'sandboxes', name)).catch(absent))
  return (await Promise.all(records)).flat().length > 0
}

/** No driver has made a sandbox here. */
function absent(): string[] {
  return []
}

/** Makes the data folder. A user who owns or may change it could replace our folders, so such a folder is refused. */
export async function makeDataDir(dataDir: string): Promise<void> {
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  const { uid, mode } = await stat(dataDir)
  const refusal = foreignFolderRefusal(dataDir, { uid, own: ownUid(), passwd: knownUsers(), program: programWords() })
  if (refusal !== null) throw new StartupError(refusal)
  if ((mode & 0o002) !== 0)
    throw new StartupError(
      `Every user of this machine can change the data folder ${dataDir}. Run: chmod o-w ${dataDir}`,
    )
}

async function makeInRuntimeDir({
  dataDir,
  runtimeDir,
}: Pick<Config, 'dataDir' | 'runtimeDir'>): Promise<string | null> {
  if (runtimeDir === null || !(await isPrivate(runtimeDir)) || endsWithLogin(runtimeDir)) return null
  const id = createHash('sha256').update(dataDir).digest('hex').slice(0, 8)
  const path = join(runtimeDir, `svc-${id}`)
  // It belongs to another data folder if that one has been moved away from this path.
  return fits(path) && (await claim(await makeOwn(path), dataDir)) ? path : null
}

/** systemd removes the runtime folder at the user's last logout, even below a running server, unless the user lingers. */
function endsWithLogin(runtimeDir: string): boolean {
  if (runtimeDir !== `/run/user/${ownUid()}`) return false
  return !existsSync(join('/var/lib/systemd/linger', userName()))
}

/** Where all users may write, only the sticky bit keeps them from moving our folder. */
async function temporaryFolder(): Promise<string> {
  const folder = fits(join(tmpdir(), 'svc-run-XXXXXX')) ? tmpdir() : '/tmp'
  const { uid, mode } = await stat(folder)
  const isSafe = (uid === 0 || uid === ownUid()) && ((mode & 0o022) === 0 || (mode & 0o1000) !== 0)
  if (isSafe) return folder
  throw new StartupError(
    `Other users can replace folders in ${folder}. Run: chmod +t ${folder}, or set TMPDIR to a folder of your own.`,
  )
}

/** Makes the folder, or takes an existing one that this user made. Does not follow links. */
async function makeOwn(path: string): Promise<string> {
  await mkdir(path, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error
  })
  const foreign = new StartupError(`${path} is a link or belongs to another user. Remove it and start again.`)
  const handle = await open(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW).catch(
    (error: NodeJS.ErrnoException) => {
      throw ['ELOOP', 'ENOTDIR', 'EACCES'].includes(error.code ?? '') ? foreign : error
    },
  )
  try {
    if ((await handle.stat()).uid !== ownUid()) throw foreign
    await handle.chmod(0o700)
  } finally {
    await handle.close()
  }
  return path
}

async function isPrivate(path: string): Promise<boolean> {
  const info = await lstat(path).catch(() => null)
  return info !== null && info.isDirectory() && info.uid === ownUid() && (info.mode & 0o077) === 0
}

function fits(runDir: string): boolean {
  return Buffer.byteLength(join(runDir, 'relay.sock')) < socketPathBytesMax - longestBelow
}

const ownUid = () => process.getuid?.() ?? 0
