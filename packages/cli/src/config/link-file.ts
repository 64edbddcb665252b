/** `.svc/link.json`: the project of a folder. It may come from an untrusted repository, so it grants nothing. */
import { isRecord, parseJson } from '@svc/contract/json'
import { folderNotEmpty } from '../ignore.ts'
import { lstat, mkdir, readFile, rename, rmdir, stat, unlink, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { uuid } from '../arguments/find-one.ts'
import { Refusal } from '../errors.ts'
import { git } from '../git/git.ts'

export interface Link {
  path: string
  project_id: string
  account_id: string | null
  host: string | null
  host_url: string | null
}

const bytesMax = 64 * 1024
const depthMax = 100

/** The link of this folder or of its nearest ancestor. */
export async function findLink(cwd: string): Promise<Link | null> {
  const path = await findLinkPath(cwd)
  return path === null ? null : readLink(path)
}

export async function findLinkPath(cwd: string): Promise<string | null> {
  let folder = cwd
  for (let depth = 0; depth < depthMax; depth++) {
    const path = join(folder, '.svc', 'link.json')
    const found = await stat(path).catch(() => null)
    if (found?.isFile()) return path
    const above = dirname(folder)
    if (above === folder) return null
    folder = above
  }
  return null
}

export async function writeLink(cwd: string, link: Omit<Link, 'path'>): Promise<string> {
  const folder = join(cwd, '.svc')
  await mkdir(folder, { recursive: true })
  // A repository may contain `.svc` as a symlink; never write through it.
  if (!(await lstat(folder)).isDirectory())
    throw new Refusal('link_broken', '.svc is not a folder', { hint: `Check ${folder}.` })
  const path = join(folder, 'link.json')
  const temporary = join(folder, `link.${crypto.randomUUID()}.tmp`)
  await writeFile(temporary, `${JSON.stringify(link, null, 2)}\n`, { flag: 'wx' })
  await rename(temporary, path)
  return path
}

/** The link belongs to this clone and user, so it is excluded from commits. Work trees share the exclude list. */
export async function excludeFromCommits(
  folder: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<void> {
  const found = await git(folder, ['rev-parse', '--git-path', 'info/exclude'], env).catch(noRepository)
  if (found === null) return
  const path = resolve(folder, found.replace(/\n$/, ''))
  const before = await readFile(path, 'utf8').catch(() => '')
  if (before.split(/\r?\n/).includes(excluded)) return
  await mkdir(dirname(path), { recursive: true })
  await writeFile(path, `${before === '' || before.endsWith('\n') ? before : `${before}\n`}${excluded}\n`)
}

/** The linked folder may be anywhere in the repository. */
const excluded = '**/.svc/link.json'

/** Outside a repository there is nothing to exclude from. */
function noRepository(): null {
  return null
}

/** Removes the file, and its folder if that is empty. */
export async function removeLink(path: string): Promise<void> {
  await unlink(path)
  await rmdir(dirname(path)).catch(folderNotEmpty)
}

async function readLink(path: string): Promise<Link> {
  if ((await stat(path)).size > bytesMax) throw broken(path, 'it is larger than 64 KiB')
  const json = parseJson(await readFile(path, 'utf8'))
  if (json === undefined) throw broken(path, 'it is not JSON')
  if (!isRecord(json)) throw broken(path, 'it is not a JSON object')
  const { project_id: projectId, account_id: accountId, host, host_url: hostUrl } = json
  if (typeof projectId !== 'string' || !uuid.test(projectId)) throw broken(path, 'project_id is not a UUID')
  return { path, project_id: projectId, account_id: text(accountId), host: text(host), host_url: text(hostUrl) }
}

function text(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null
}

function broken(path: string, why: string): Refusal {
  return new Refusal('link_broken', `The link file is unusable: ${why}`, {
    hint: `Remove ${path} and link again.`,
    next: ['svc projects unlink', 'svc projects link'],
    detail: { path },
  })
}
