/** A server at full load: pushes and merges, an agent, firings of a trigger, and secrets, with what it acknowledged of each. */
import { expect } from 'bun:test'
import { mkdtemp } from 'node:fs/promises'
import { join } from 'node:path'
import { gatewayOf, git, type ServerProcess, until } from './harness.ts'

export interface Acknowledged {
  branches: Map<string, string>
  /** By the number of the change request. */
  merges: Map<number, string>
  /** Branches whose change requests stay open. */
  open: Set<string>
  prompts: Set<string>
  /** Sessions that the trigger `hook` began. */
  fired: Set<string>
  secrets: Set<string>
}

const none = (): Acknowledged => ({
  branches: new Map(),
  merges: new Map(),
  open: new Set(),
  prompts: new Set(),
  fired: new Set(),
  secrets: new Set(),
})

/** Of the project. The work fires its trigger. */
export const manifest = `svc_version = 1

[[triggers]]
slug = "hook"
type = "webhook"
secret_env = "HOOK_SECRET"
model = "svc-scripted-demo"
prompt = "Begin by hand."
`

const pushers = ['a', 'b', 'c']

/** Each kind of work goes on one after another, beside the others. What counts was acknowledged. */
export class Work {
  readonly acknowledged = none()
  readonly #server: ServerProcess
  readonly #project: string
  readonly #dir: string
  /** Its agent is prompted. */
  readonly #session: string
  #ended = false
  #running: Promise<unknown> = Promise.resolve()

  constructor(server: ServerProcess, place: { project: string; dir: string; session: string }) {
    this.#server = server
    this.#project = place.project
    this.#dir = place.dir
    this.#session = place.session
  }

  begin(): void {
    this.#running = Promise.all([...pushers.map((name) => this.#push(name)), ...[this.#prompt(), this.#fire()]])
  }

  async end(): Promise<void> {
    this.#ended = true
    await this.#running
  }

  /** What is acknowledged at this moment. */
  now(): Acknowledged {
    return structuredClone(this.acknowledged)
  }

  /** Resolves once every kind of work has gone on since. */
  async more(): Promise<void> {
    const then = this.now()
    await until('more work of each kind', () => {
      const kinds = Object.keys(then) as (keyof Acknowledged)[]
      return kinds.every((kind) => this.acknowledged[kind].size > then[kind].size)
    })
  }

  #at(path: string): string {
    return `/v1/projects/${this.#project}${path}`
  }

  async #push(name: string): Promise<void> {
    const clone = join(this.#dir, `clone-${name}`)
    await git(this.#dir, 'clone', '--quiet', gatewayOf(this.#server, { project_id: this.#project }), clone)
    for (let n = 1; !this.#ended; n++) {
      const branch = `work-${name}-${n}`
      await git(clone, 'checkout', '--quiet', '-b', branch, 'origin/main')
      await Bun.write(join(clone, `${branch}.txt`), `${branch} ${'x'.repeat(2_000)}\n`)
      await git(clone, 'add', '.')
      await git(clone, 'commit', '--quiet', '-m', branch)
      await git(clone, 'push', '--quiet', 'origin', branch)
      this.acknowledged.branches.set(branch, await git(clone, 'rev-parse', 'HEAD'))
      const cr = await this.#server.send<{ cr_id: string; number: number }>('POST', this.#at('/change-requests'), {
        ...{ title: branch, head_ref: branch, base_ref: 'main' },
      })
      if (staysOpen(branch)) {
        this.acknowledged.open.add(branch)
        continue
      }
      const merged = await this.#server.send<{ change_request: { merge_commit_sha: string } }>(
        'POST',
        this.#at(`/change-requests/${cr.cr_id}/merge`),
      )
      this.acknowledged.merges.set(cr.number, merged.change_request.merge_commit_sha)
      await git(clone, 'fetch', '--quiet', 'origin')
    }
  }

  async #prompt(): Promise<void> {
    const session = this.#at(`/sessions/${this.#session}`)
    for (let n = 1; !this.#ended; n++) {
      const text = `Prompt ${n} of the work.\n\n\`\`\`svc-script\ntrue\n\`\`\``
      await this.#server.send('POST', `${session}/prompt`, { text })
      this.acknowledged.prompts.add(text)
      const name = `SECRET_${n}`
      await this.#server.send('POST', this.#at('/secrets'), { name, value: `the value of ${name}` })
      this.acknowledged.secrets.add(name)
      await until(`the turn of prompt ${n}`, async () => {
        const { prompts } = await this.#server.send<{ prompts: object[] }>('GET', `${session}/prompts?status=accepted`)
        return prompts.length === 0
      })
    }
  }

  async #fire(): Promise<void> {
    while (!this.#ended) {
      const { session_id } = await this.#server.send<{ session_id: string }>(
        'POST',
        this.#at('/triggers/hook/fire'),
        {},
      )
      this.acknowledged.fired.add(session_id)
      const session = this.#at(`/sessions/${session_id}`)
      await until('the fired session to run', async () => {
        const { status, error } = await this.#server.send<{ status: string; error: string | null }>('GET', session)
        expect(error).toBe(null)
        return status === 'running'
      })
      await this.#server.send('POST', `${session}/stop`)
    }
  }
}

/** Every third change request of a pusher. */
export const staysOpen = (branch: string) => Number(branch.split('-').at(-1)) % 3 === 0

/** Another server has everything that was acknowledged. */
export async function hasEverything(
  copy: ServerProcess,
  { project, dir, session }: { project: string; dir: string; session: string },
  { branches, merges, prompts, fired, secrets }: Acknowledged,
): Promise<void> {
  const at = (path: string) => `/v1/projects/${project}${path}`
  const gateway = gatewayOf(copy, { project_id: project })
  const listed = await git(dir, 'ls-remote', gateway, 'refs/heads/*')
  const refs = new Map(listed.split('\n').map((line) => line.split('\t').toReversed() as [string, string]))
  expect([...branches].filter(([branch, sha]) => refs.get(`refs/heads/${branch}`) !== sha)).toEqual([])

  const clone = await mkdtemp(join(dir, 'restored-'))
  await git(clone, 'clone', '--quiet', gateway, 'busy')
  const history = new Set((await git(join(clone, 'busy'), 'rev-list', 'origin/main')).split('\n'))
  const found = new Map(
    (
      await copy.send<{ change_requests: ChangeRequest[] }>('GET', at('/change-requests?status=merged&limit=1000'))
    ).change_requests.map((one) => [one.number, one.merge_commit_sha]),
  )
  expect([...merges].filter(([number, sha]) => found.get(number) !== sha || !history.has(sha))).toEqual([])

  const asked = await copy.send<{ prompts: { text: string }[] }>('GET', at(`/sessions/${session}/prompts?limit=1000`))
  expect([...prompts].filter((text) => !asked.prompts.some((one) => one.text === text))).toEqual([])
  const sessions = await copy.send<{ session_id: string }[]>('GET', at('/sessions?limit=1000'))
  expect([...fired].filter((id) => !sessions.some((one) => one.session_id === id))).toEqual([])
  const { items } = await copy.send<{ items: { name: string }[] }>('GET', at('/secrets'))
  expect([...secrets].filter((name) => !items.some((one) => one.name === name))).toEqual([])
}

interface ChangeRequest {
  number: number
  merge_commit_sha: string
}
