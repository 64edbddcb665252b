/** The two ways a repository reaches the server: pushed through its gateway, or served by an external host. */
import { randomUUID } from 'node:crypto'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Project } from '@svc/contract'
import { gatewayOf, gitEnvironment, run } from '../../e2e/harness.ts'
import { gitIn } from '../repositories.ts'
import type { Server } from './visit.ts'

export interface Arrival {
  projectId: string | null
  /** The refusals on the way, with their messages. */
  refused: string[]
}

export async function createProject(server: Server, body: object): Promise<Project | string> {
  const response = await fetch(`${server.url}/v1/projects`, {
    method: 'POST',
    headers: { authorization: `Bearer ${server.token}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  return response.status === 201 ? ((await response.json()) as Project) : `${response.status} ${await response.text()}`
}

/** The project keeps everything that was not refused. */
export async function pushed(
  server: Server,
  hostile: { dir: string; alsoPush: string[]; mainOnly?: boolean },
  scratch: string,
): Promise<Arrival> {
  const project = await createProject(server, { name: 'hostile' })
  if (typeof project === 'string') throw new Error(`No managed project: ${project}`)
  // Not from the hostile folder, whose settings would apply to the pusher.
  const from = join(scratch, `${randomUUID()}.git`)
  await gitIn(scratch, ['init', '--quiet', '--bare', '--template=', from])
  await mkdir(join(from, 'objects/info'), { recursive: true })
  await writeFile(join(from, 'objects/info/alternates'), `${join(hostile.dir, 'objects')}\n`)
  const refs = await refsOf(hostile.dir)
  const url = gatewayOf(server, project)
  const refused: string[] = []
  const push = async (names: string[]) => {
    const specs = names.flatMap((name) => (refs.has(name) ? [`${refs.get(name)}:${name}`] : []))
    if (specs.length === 0) return
    const told = await pushSpecs(from, url, specs)
    if (told !== null) refused.push(`${names.length === 1 ? names[0] : `${names.length} refs`}: ${told}`)
  }
  await push(['refs/heads/main'])
  if (hostile.mainOnly === true) return { projectId: project.project_id, refused }
  await push(['refs/heads/work'])
  await push([...refs.keys()].filter((name) => !['refs/heads/main', 'refs/heads/work'].includes(name)))
  return { projectId: project.project_id, refused }
}

async function pushSpecs(from: string, url: string, specs: string[]): Promise<string | null> {
  const input = join(from, 'specs')
  await writeFile(input, specs.join('\0'))
  // Ends the whole process group: git alone would leave its helpers running.
  const bounded = ['timeout', '120']
  const args = specs.length > 500 ? [...bounded, 'xargs', '-0', '-n', '4000', '-a', input, 'git'] : [...bounded, 'git']
  const settings = ['-c', 'pack.threads=1', '-c', 'pack.useSparse=false']
  const command = [...args, `--git-dir=${from}`, ...settings, 'push', '--quiet', '--no-verify', '--', url]
  const { code, stderr: said } = await run(specs.length > 500 ? command : [...command, ...specs], {
    env: { ...gitEnvironment, GIT_NO_REPLACE_OBJECTS: '1' },
  })
  if (code === 0) return null
  const telling = said.split('\n').filter((line) => /error|fatal|rejected|remote/i.test(line))
  return (telling.slice(0, 2).join(' ') || said).replace(/\s+/g, ' ').slice(0, 220)
}

/** Read from the files themselves, since git would fail on some of them. */
export async function refsOf(dir: string): Promise<Map<string, string>> {
  const refs = new Map<string, string>()
  const packed = await readFile(join(dir, 'packed-refs'), 'utf8').catch(() => '')
  for (const [, sha = '', name = ''] of packed.matchAll(/^([0-9a-f]{40}) (refs\/\S+)$/gm)) refs.set(name, sha)
  const loose = await readdir(join(dir, 'refs'), { recursive: true, withFileTypes: true })
  for (const entry of loose.filter((one) => one.isFile())) {
    const path = join(entry.parentPath, entry.name)
    refs.set(path.slice(dir.length + 1), (await readFile(path, 'utf8')).trim())
  }
  return refs
}

export async function served(server: Server, url: string): Promise<Arrival> {
  const project = await createProject(server, { repo_url: url })
  return typeof project === 'string'
    ? { projectId: null, refused: [`project: ${project.slice(0, 220)}`] }
    : { projectId: project.project_id, refused: [] }
}
