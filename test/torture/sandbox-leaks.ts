/** Finds leftovers of sandboxes: processes, folders, groups, mounts, and rows that still grant rights. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { withClient } from '../../packages/server/src/db/testing-cluster.ts'
import { procFile, runningProcesses } from '../processes.ts'

export interface Process {
  pid: number
  parent: number
  command: string
}

export function processes(): Process[] {
  return [...runningProcesses()].map(([pid, { parent }]) => {
    return { pid, parent, command: procFile(pid, 'cmdline').replaceAll('\0', ' ') }
  })
}

/** Elsewhere when the path of the data folder is too long for sockets. */
export function runDirOf(dataDir: string): string {
  const record = join(dataDir, 'run-folder')
  return existsSync(record) ? readFileSync(record, 'utf8') : join(dataDir, 'run')
}

/** Processes of every sandbox of this data folder, whichever server started it: they have its folder mounted. */
export function processesInSandboxes(dataDir: string): Process[] {
  const mounted = join(...runDirOf(dataDir).split('/').slice(-3), 'sandboxes')
  return processes().filter(({ pid }) => procFile(pid, 'mountinfo').includes(mounted))
}

/** All processes of `list` below this one. */
export function below(pid: number, list = processes()): Process[] {
  const children = list.filter(({ parent }) => parent === pid)
  return [...children, ...children.flatMap((child) => below(child.pid, list))]
}

/** Looks for leftovers once the server has stopped its sandboxes. `knownPids` are the processes of those sandboxes. */
export function leaksOnMachine(dataDir: string, knownPids: Iterable<Process>): string[] {
  const found: string[] = []
  const runDir = runDirOf(dataDir)
  const alive = new Map(processes().map((each) => [each.pid, each]))
  for (const { pid, command } of knownPids)
    if (alive.get(pid)?.command === command && command !== '') found.push(`process ${pid} lives on: ${command}`)
  for (const { pid, command } of alive.values())
    if (command.includes(runDir) && !command.includes('svc server'))
      found.push(`process ${pid} uses the data folder: ${command.slice(0, 200)}`)
  for (const folder of ['sandboxes/run', 'sandboxes/pods', 'egress'])
    if (existsSync(join(runDir, folder)))
      for (const name of readdirSync(join(runDir, folder))) found.push(`${folder}/${name} is left`)
  const mounts = readFileSync('/proc/self/mountinfo', 'utf8').split('\n')
  for (const line of mounts)
    if (line.includes(dataDir) || line.includes(runDir)) found.push(`a mount is left: ${line.slice(0, 200)}`)
  const groups = join(runDir, 'sandboxes/groups.json')
  if (existsSync(groups))
    for (const path of readFileSync(groups, 'utf8').match(/\/sys\/fs\/cgroup[^"]*/g) ?? [])
      if (existsSync(path))
        for (const child of readdirSync(path, { withFileTypes: true }))
          if (child.isDirectory()) found.push(`the group ${path}/${child.name} is left`)
  return found
}

/** Rights and states without a session. */
export function leaksInDatabase(url: string): Promise<string[]> {
  return withClient(url, async (client) => {
    const found: string[] = []
    for (const [what, statement] of Object.entries(questions)) {
      const { rows } = await client.query<{ id: string }>(statement)
      for (const { id } of rows) found.push(`${what}: ${id}`)
    }
    return found
  })
}

const questions = {
  'a token of a session that does not run, or of an earlier generation': `
    select token_id as id from tokens join project_sessions using (session_id)
    where revoked_at is null and (status not in ('provisioning', 'running') or tokens.generation <> project_sessions.generation)`,
  'a credential of a session that does not run, or of an earlier generation': `
    select credential_id as id from sandbox_credentials c join project_sessions s using (session_id)
    where revoked_at is null and (s.status not in ('provisioning', 'running') or c.generation <> s.generation)`,
  'a sandbox that counts as alive in a session that does not run, or of an earlier generation': `
    select sandbox_id as id from session_sandboxes b join project_sessions s using (session_id)
    where b.status in ('provisioning', 'active') and (s.status not in ('provisioning', 'running') or b.generation <> s.generation)`,
  'a session that failed without a reason': `
    select session_id as id from project_sessions where status = 'failed' and error is null`,
  'a prompt that was accepted and not delivered in a session that runs': `
    select prompt_id as id from session_prompts join project_sessions using (session_id)
    where session_prompts.status = 'accepted' and project_sessions.status = 'running'`,
  'a session that is neither running nor stopped nor failed': `
    select session_id as id from project_sessions where status not in ('running', 'stopped', 'failed')`,
}
