/** What tests of moves do as a user: pushes and merges over any server, retried as a client would. */
import { randomBytes } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { until } from '../../testing-until.ts'
import type { Fleet, FleetServer } from '../testing-fleet.ts'

export interface MoveRow {
  phase: string
  error: string | null
  waits_for: string | null
  attempts: number
}

export class TestProjectOfFleet {
  readonly fleet: Fleet
  readonly id: string
  readonly #work: string

  private constructor(fleet: Fleet, id: string, work: string) {
    this.fleet = fleet
    this.id = id
    this.#work = work
  }

  /** Its home is the given server: others do not run, or have as many projects. */
  static async make(fleet: Fleet, at: FleetServer, body: object = {}): Promise<TestProjectOfFleet> {
    const made = await fleet.request(at, 'POST', '/v1/projects', { body: { name: 'moving', ...body } })
    const { project_id: id } = (await made.json()) as { project_id: string }
    const work = join(fleet.dir, `work-${id}`)
    await mkdir(work)
    const project = new TestProjectOfFleet(fleet, id, work)
    await project.git('init', '-q', '-b', 'main')
    return project
  }

  async git(...args: string[]): Promise<{ code: number; output: string; errors: string }> {
    const credential = Buffer.from(`x-access-token:${this.fleet.token}`).toString('base64')
    const settings = ['user.name=t', 'user.email=t@t.invalid', `http.extraHeader=Authorization: Basic ${credential}`]
    const child = Bun.spawn(['git', ...settings.flatMap((each) => ['-c', each]), ...args], {
      cwd: this.#work,
      stdout: 'pipe',
      stderr: 'pipe',
      env: { PATH: '/usr/local/bin:/usr/bin:/bin', HOME: this.fleet.dir, GIT_TERMINAL_PROMPT: '0' },
    })
    const [output, errors] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
    return { code: await child.exited, output: output.trim(), errors }
  }

  /** A commit on top of `from`, which no branch has. */
  async commit(from: string | null = null): Promise<string> {
    const name = randomBytes(6).toString('hex')
    await writeFile(join(this.#work, name), `${name}\n`)
    const blob = (await this.git('hash-object', '-w', name)).output
    const mktree = Bun.spawn(['git', 'mktree'], { cwd: this.#work, stdin: 'pipe', stdout: 'pipe' })
    const listed = from === null ? '' : `${(await this.git('ls-tree', from)).output}\n`
    mktree.stdin.write(`${listed}100644 blob ${blob}\t${name}\n`)
    await mktree.stdin.end()
    const tree = (await new Response(mktree.stdout).text()).trim()
    const parents = from === null ? [] : ['-p', from]
    return (await this.git('commit-tree', tree, ...parents, '-m', name)).output
  }

  push(server: FleetServer, commit: string, branch: string) {
    return this.git('push', '-q', `${server.url}/v1/projects/${this.id}/git`, `${commit}:refs/heads/${branch}`)
  }

  /** The branches that a clone over this server sees. */
  async branches(server: FleetServer): Promise<Map<string, string>> {
    const { code, output, errors } = await this.git('ls-remote', `${server.url}/v1/projects/${this.id}/git`)
    if (code !== 0) throw new Error(errors)
    const pairs = output.split('\n').map((line) => line.split('\t'))
    return new Map(pairs.map(([sha = '', ref = '']) => [ref.replace('refs/heads/', ''), sha]))
  }

  async request<T>(
    server: FleetServer,
    method: string,
    path: string,
    body?: unknown,
  ): Promise<{ status: number; body: T }> {
    const options = body === undefined ? {} : { body }
    const answer = await this.fleet.request(server, method, `/v1/projects/${this.id}${path}`, options)
    return { status: answer.status, body: (await answer.json()) as T }
  }

  async move(over: FleetServer, to: FleetServer, force = false): Promise<void> {
    const { status, body } = await this.request(over, 'POST', '/home', { server: to.name, force })
    if (status !== 202) throw new Error(JSON.stringify(body))
  }

  async lastMove(): Promise<MoveRow & { home: string; home_state: string }> {
    const rows = await this.fleet.query<MoveRow & { home: string; home_state: string }>(
      `select m.phase, m.error, m.waits_for, m.attempts, p.home, p.home_state from project_moves m
       join projects p using (project_id) where project_id = $1 order by requested_at desc limit 1`,
      [this.id],
    )
    return rows[0]!
  }

  ended(): Promise<MoveRow & { home: string; home_state: string }> {
    return until('the move has ended', async () => {
      const move = await this.lastMove()
      return (move.phase === 'done' || move.phase === 'failed') && move.home_state === 'open' ? move : null
    })
  }

  /** Every ref on the disk of a server, hidden ones too. */
  async refsOnDisk(server: FleetServer, folder: 'repositories' | 'mirrors' = 'repositories'): Promise<string[]> {
    const dir = join(this.fleet.dir, server.name, folder, `${this.id}.git`)
    const { output } = await this.git(`--git-dir=${dir}`, 'for-each-ref', '--format=%(refname) %(objectname) %(symref)')
    return output.split('\n')
  }

  async hide(server: FleetServer, ref: string, commit: string, folder: 'repositories' | 'mirrors' = 'repositories') {
    const dir = join(this.fleet.dir, server.name, folder, `${this.id}.git`)
    const fetched = await this.git(`--git-dir=${dir}`, 'fetch', '-q', this.#work, `${commit}:${ref}`)
    if (fetched.code !== 0) throw new Error(fetched.errors)
  }
}
