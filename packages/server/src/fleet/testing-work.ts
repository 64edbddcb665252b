/** What a person does with a project of a fleet: commits, pushes, change requests. */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { until } from '../testing-until.ts'
import type { Fleet, FleetServer } from './testing-fleet.ts'

export class FleetProject {
  readonly #fleet: Fleet
  readonly id: string
  readonly work: string

  private constructor(fleet: Fleet, id: string) {
    this.#fleet = fleet
    this.id = id
    this.work = join(fleet.dir, `work-${id}`)
  }

  /** At home there, with a first commit on `main`. */
  static async make(fleet: Fleet, home: FleetServer): Promise<FleetProject> {
    const project = new FleetProject(fleet, await makeAt(fleet, home))
    await mkdir(project.work)
    await project.git('init', '-q', '-b', 'main')
    await project.commit('a.txt')
    const pushed = await project.push(home, 'HEAD:refs/heads/main')
    if (pushed.code !== 0) throw new Error(pushed.errors)
    return project
  }

  /** At home there, with a repository on a git host. */
  static async adopt(fleet: Fleet, home: FleetServer, repoUrl: string): Promise<FleetProject> {
    return new FleetProject(fleet, await makeAt(fleet, home, { repo_url: repoUrl }))
  }

  async git(...args: string[]): Promise<{ code: number; output: string; errors: string }> {
    const child = this.#begin(args)
    const [output, errors] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
    return { code: await child.exited, output: output.trim(), errors }
  }

  #begin(args: string[]) {
    const credential = Buffer.from(`x-access-token:${this.#fleet.token}`).toString('base64')
    const settings = ['user.name=t', 'user.email=t@t.invalid', `http.extraHeader=Authorization: Basic ${credential}`]
    return Bun.spawn(['git', ...settings.flatMap((each) => ['-c', each]), ...args], {
      cwd: this.work,
      stdout: 'pipe',
      stderr: 'pipe',
      env: { PATH: '/usr/local/bin:/usr/bin:/bin', HOME: this.#fleet.dir, GIT_TERMINAL_PROMPT: '0' },
    })
  }

  async commit(name: string): Promise<string> {
    await writeFile(join(this.work, name), `${this.id} ${name}\n`)
    await this.git('add', '-A')
    await this.git('commit', '-q', '-m', name)
    return (await this.git('rev-parse', 'HEAD')).output
  }

  push(at: FleetServer, ...refs: string[]) {
    return this.git('push', `${at.url}/v1/projects/${this.id}/git`, ...refs)
  }

  /** `said` gets what git has said so far, each time that it says more. */
  async followPush(at: FleetServer, ref: string, said: (errors: string) => void): Promise<{ code: number }> {
    const child = this.#begin(['push', `${at.url}/v1/projects/${this.id}/git`, ref])
    let errors = ''
    for await (const chunk of child.stderr.pipeThrough(new TextDecoderStream())) said((errors += chunk))
    return { code: await child.exited }
  }

  async tips(at: FleetServer): Promise<Record<string, string>> {
    const { code, output, errors } = await this.git('ls-remote', `${at.url}/v1/projects/${this.id}/git`)
    if (code !== 0) throw new Error(errors)
    const lines = output.split('\n').map((line) => line.split('\t'))
    return Object.fromEntries(lines.map(([sha = '', ref = '']) => [ref, sha]))
  }

  request(at: FleetServer, method: string, path: string, body?: unknown): Promise<Response> {
    return this.#fleet.request(at, method, `/v1/projects/${this.id}${path}`, body === undefined ? {} : { body })
  }

  async ask<T>(at: FleetServer, method: string, path: string, body?: unknown): Promise<T> {
    const answer = await this.request(at, method, path, body)
    const text = await answer.text()
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`)
    return JSON.parse(text) as T
  }

  /** Pushes a commit to a branch of its own and opens a change request for it. */
  async changeRequest(at: FleetServer, branch: string): Promise<{ cr_id: string; head: string }> {
    await this.git('checkout', '-q', '-b', branch, 'main')
    const head = await this.commit(`${branch}.txt`)
    const pushed = await this.push(at, `HEAD:refs/heads/${branch}`)
    if (pushed.code !== 0) throw new Error(pushed.errors)
    const { cr_id } = await this.ask<{ cr_id: string }>(at, 'POST', '/change-requests', {
      title: branch,
      head_ref: branch,
    })
    return { cr_id, head }
  }

  async replica(): Promise<{ server: string; epoch: number; acknowledged_seq: number } | null> {
    const rows = await this.#fleet.query<{ server: string; epoch: number; acknowledged_seq: string }>(
      'select server, epoch, acknowledged_seq from project_replicas where project_id = $1',
      [this.id],
    )
    const [row] = rows
    return row === undefined ? null : { ...row, acknowledged_seq: Number(row.acknowledged_seq) }
  }

  async home(): Promise<{ home: string; home_epoch: number }> {
    const rows = await this.#fleet.query<{ home: string; home_epoch: number }>(
      'select home, home_epoch from projects where project_id = $1',
      [this.id],
    )
    return rows[0]!
  }

  replicaIsAt(name: string): Promise<unknown> {
    return until(`a copy at ${name}`, async () => {
      const [replica, home] = await Promise.all([this.replica(), this.home()])
      return replica?.server === name && replica.epoch === home.home_epoch
    })
  }
}

/** The projects without a current copy, as that server lists them. */
export async function uncopied(fleet: Fleet, at: FleetServer) {
  const answer = await fleet.request(at, 'GET', '/v1/copies')
  type Listed = { project_id: string; replica: string | null; being_made: boolean; error: string | null }
  return ((await answer.json()) as { projects: Listed[] }).projects
}

/** The server with the fewest projects gets a new one, so the others fill up first. */
export async function makeAt(fleet: Fleet, home: FleetServer, of: object = {}): Promise<string> {
  for (let tries = 0; tries < 20; tries++) {
    const made = await fleet.request(home, 'POST', '/v1/projects', { body: { name: 'copied', ...of } })
    const body = (await made.json()) as { project_id: string }
    if (!made.ok) throw new Error(JSON.stringify(body))
    const rows = await fleet.query<{ home: string }>('select home from projects where project_id = $1', [
      body.project_id,
    ])
    if (rows[0]!.home === home.name) return body.project_id
  }
  throw new Error(`No project was made at ${home.name}.`)
}

/** Makes a server that is dead or paused count as gone, as it does 20 s after its last heartbeat (test/e2e/take-over.test.ts waits for that). */
export async function countAsGone(fleet: Fleet, name: string): Promise<void> {
  await fleet.query(
    "update server_instances set heartbeat_at = now() - interval '21 seconds' where server_name = $1 and heartbeat_at > now() - interval '21 seconds'",
    [name],
  )
}

export interface TakenOver {
  projects: {
    project_id: string
    outcome: string
    server: string | null
    missing: { ref: string }[]
    is_stale: boolean
  }[]
  remaining: number
}

export async function takeOver(
  fleet: Fleet,
  at: FleetServer,
  name: string,
  body: { accept_loss?: boolean; after?: string } = {},
): Promise<TakenOver> {
  const answer = await fleet.request(at, 'POST', `/v1/servers/${name}/take-over`, { body })
  const text = await answer.text()
  if (!answer.ok) throw new Error(`${answer.status} ${text}`)
  return JSON.parse(text) as TakenOver
}
