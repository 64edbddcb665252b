/** A folder of backups: one manifest each, with packs that they share. One command at a time writes to it. */
import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { lockFile } from '../startup/folder-lock.ts'
import { StartupError } from '../startup/startup-error.ts'
import { partialSuffix, writeText } from './files.ts'
import { backupFormat, backupIdPattern, type Manifest, parseManifest } from './manifest.ts'

const storedFile = z.object({ name: z.string(), bytes: z.number(), sha256: z.string() })

/** What the folder has of a repository. Written after each pack, so that an interrupted backup is continued. */
const packedState = z.object({ packs: z.array(storedFile), tips: z.array(z.string()) })
export type PackedState = z.infer<typeof packedState>

const header = z.object({ format: z.number(), installation_id: z.string(), recipient: z.string().nullable() })
type Header = z.infer<typeof header>

const headerName = 'svc-backups.json'

export const manifestPath = (root: string, backupId: string) => join(root, 'backups', `${backupId}.json`)
const statePath = (root: string, projectId: string) => join(root, 'packs', projectId, 'state.json')

/** Makes the folder, or requires that its backups are of this installation and encrypted alike. */
export async function openForWriting(
  root: string,
  { installation_id, recipient }: Pick<Header, 'installation_id' | 'recipient'>,
): Promise<{ release(): void }> {
  await mkdir(root, { recursive: true, mode: 0o700 })
  const found = await readHeader(root)
  if (found === null && (await readdir(root)).length > 0)
    throw new StartupError(
      `${root} is not empty and has no backups of svc. Choose another folder. Nothing was changed.`,
    )
  if (found !== null && found.installation_id !== installation_id)
    throw new StartupError(
      `${root} has the backups of another installation. Choose another folder. Nothing was changed.`,
    )
  if (found !== null && found.recipient !== recipient)
    throw new StartupError(
      found.recipient === null
        ? `The backups in ${root} are not encrypted. Choose another folder for encrypted ones. Nothing was changed.`
        : `The backups in ${root} are encrypted for ${found.recipient}. Give its key file with --encrypt, or choose another folder. Nothing was changed.`,
    )
  if (found === null)
    await writeText(join(root, headerName), `${JSON.stringify({ format: backupFormat, installation_id, recipient })}\n`)
  const lock = lockFile(join(root, 'backup.lock'))
  if (lock !== null) return lock
  throw new StartupError(`Another backup to ${root} is running. Run this one again when it has ended.`)
}

export async function readHeader(root: string): Promise<Header | null> {
  const text = await readFile(join(root, headerName), 'utf8').catch(absent)
  if (text === null) return null
  const parsed = header.safeParse(JSON.parse(text))
  if (parsed.success) return parsed.data
  throw new StartupError(`${join(root, headerName)} is damaged. Nothing was changed.`)
}

/** The ids of complete backups, earliest first. */
export async function listBackups(root: string): Promise<string[]> {
  const names = (await readdir(join(root, 'backups')).catch(absent)) ?? []
  const ids = names.flatMap((name) => (name.endsWith('.json') ? [name.slice(0, -'.json'.length)] : []))
  return ids.filter((id) => backupIdPattern.test(id)).toSorted()
}

export async function readBackup(root: string, backupId: string): Promise<Manifest> {
  const path = manifestPath(root, backupId)
  return parseManifest(await readFile(path, 'utf8'), path)
}

export async function writeManifest(root: string, manifest: Manifest): Promise<void> {
  await writeText(manifestPath(root, manifest.backup_id), `${JSON.stringify(manifest, null, 1)}\n`)
}

const emptyState: PackedState = { packs: [], tips: [] }

/** A pack that is gone makes everything that builds on it useless. */
export async function readState(root: string, projectId: string): Promise<PackedState> {
  const text = await readFile(statePath(root, projectId), 'utf8').catch(absent)
  const parsed = packedState.safeParse(text === null ? null : JSON.parse(text))
  if (!parsed.success || parsed.data.packs.some(({ name }) => !existsSync(join(root, name)))) return emptyState
  return parsed.data
}

export async function writeState(root: string, projectId: string, state: PackedState): Promise<void> {
  await writeText(statePath(root, projectId), `${JSON.stringify(state)}\n`)
}

/** Removes what no kept backup uses: of deleted backups, and of those that were interrupted. Returns the freed bytes. */
export async function removeUnused(root: string): Promise<void> {
  const ids = await listBackups(root)
  const kept = await Promise.all(ids.map((id) => readBackup(root, id)))
  const projects = new Set(kept.flatMap(({ repositories }) => repositories.map(({ project_id }) => project_id)))
  const packs = new Set(
    kept.flatMap(({ repositories }) => repositories.flatMap((one) => one.packs.map(({ name }) => name))),
  )
  for (const id of (await readdir(join(root, 'data')).catch(absent)) ?? [])
    if (!ids.includes(id)) await rm(join(root, 'data', id), { recursive: true, force: true })
  for (const projectId of (await readdir(join(root, 'packs')).catch(absent)) ?? []) {
    const dir = join(root, 'packs', projectId)
    if (!projects.has(projectId)) await rm(dir, { recursive: true, force: true })
    const current = new Set((await readState(root, projectId)).packs.map(({ name }) => name))
    for (const file of (await readdir(dir).catch(absent)) ?? []) {
      const name = `packs/${projectId}/${file}`
      const isUsed = file === 'state.json' || packs.has(name) || current.has(name)
      if (!isUsed || file.endsWith(partialSuffix)) await rm(join(root, name), { force: true })
    }
  }
}

function absent(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return null
  throw error
}
