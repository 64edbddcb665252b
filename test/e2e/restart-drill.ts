/**
 * Ten agents at work while their server stops, is killed, is upgraded and comes back: in the middle of a model's answer,
 * of a command, of a page that a person looks at, of a question. None of them loses its turn, with any sandbox driver. An
 * app and checks go on as well.
 */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { copyFile, mkdir, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import type { Question, Session } from '@svc/contract'
import { processesWith } from '../../packages/sandbox/src/conformance/testing-sandboxes.ts'
import { gatewayOf, git, program, removeFolder, root, Server, until } from './harness.ts'
import { workloadFiles, Workloads } from './restart-workloads.ts'
import { talkingModel } from './talking-model.ts'

const files = {
  ...workloadFiles,
  'opencode.json': JSON.stringify({ permission: { bash: { '*': 'allow', '*ASKED*': 'ask' } } }),
  'server.mjs': `Bun.serve({ port: 3000, hostname: '127.0.0.1', fetch: () => new Response('a page') })`,
}

interface Agents {
  talking: string[]
  running: string[]
  serving: string
  asking: string
  quiet: string
}

interface DriverOfDrill {
  env: Record<string, string>
  /** Called once the server and its sandboxes have ended. */
  expectNothingLeft?(): Promise<void>
}

/** Registers the tests. `driver` is called when they run. */
export function restartDrill(driver: () => DriverOfDrill): void {
  setDefaultTimeout(900_000)
  let drill: Drill
  beforeAll(() => {
    drill = new Drill()
    return drill.begin(driver().env)
  })
  afterAll(() => drill?.end())

  test('ten agents start to work', () => drill.setToWork())

  test('an app and checks start', () => drill.workloads.begin(drill.tree))

  test('ten agents, an app and checks continue over a graceful stop and the next start', () =>
    drill.expectAllGoOnOver('a graceful stop', async (server) => {
      expect(await server.kill('SIGTERM')).toBe(0)
      expect(server.output).toMatch(/10 sessions, 1 app, and [12] checks? go on; the next start/)
      await server.boot()
    }))

  test('ten agents, an app and checks continue over a kill -9', () =>
    drill.expectAllGoOnOver('a kill -9', async (server) => {
      await server.kill('SIGKILL')
      await server.boot()
    }))

  test('ten agents, an app and checks continue over an upgrade to another build in place', () =>
    drill.expectAllGoOnOver('an upgrade', async (server) => {
      await drill.workloads.beginBriefCheck()
      expect(await server.kill('SIGTERM')).toBe(0)
      const build = await copyBuild(server)
      await drill.workloads.untilBriefCheckEnded()
      await server.boot(build)
    }))

  test('every turn ends as if nothing had happened', () => drill.expectEveryTurnEnds())

  test('an app and checks have each log line once, and a check that ended without a server has its result', () =>
    drill.workloads.expectWholeLogs())

  test("a stop with sessions ends every sandbox, including the app's", async () => {
    const { server } = drill
    const ran = await server.svc(['self-host', 'stop', '--sessions'], { env: server.env })
    expect([ran.stdout, ran.stderr]).toEqual([
      expect.stringContaining('is stopping'),
      expect.stringContaining('Ended 10 sessions'),
    ])
    await server.exited
    expect(processesWith(server.dir)).toEqual([])
    await driver().expectNothingLeft?.()
  })
}

/** A file of its own, as every build is; the packages that come along are found beside it. */
async function copyBuild(server: Server): Promise<string> {
  const upgraded = join(server.dir, 'upgraded')
  await mkdir(join(upgraded, 'dist'), { recursive: true })
  await copyFile(program, join(upgraded, 'dist/svc'))
  await symlink(join(root, 'node_modules'), join(upgraded, 'node_modules'))
  return join(upgraded, 'dist/svc')
}

const script = (...lines: string[]) => ['Do this.', '', '```svc-script', ...lines, '```'].join('\n')

class Drill {
  readonly #model = talkingModel()
  #server: Server | null = null
  #project = ''
  #agents: Agents = { talking: [], running: [], serving: '', asking: '', quiet: '' }
  #sandboxes = new Map<string, string | null>()
  #workloads: Workloads | null = null

  get server(): Server {
    if (this.#server === null) throw new Error('The server was not started.')
    return this.#server
  }

  get workloads(): Workloads {
    if (this.#workloads === null) throw new Error('The project was not made.')
    return this.#workloads
  }

  get tree(): string {
    return join(this.server.dir, 'tree')
  }

  get #all(): string[] {
    const { talking, running, serving, asking, quiet } = this.#agents
    return [...talking, ...running, serving, asking, quiet]
  }

  async begin(env: Record<string, string>): Promise<void> {
    const server = await Server.start({
      SVC_LLM_UPSTREAM_URL: `${this.#model.url}/v1`,
      SVC_LLM_UPSTREAM_KEY: 'key',
      SVC_LLM_MODEL: 'm',
      SVC_SANDBOX_LEASE_SECONDS: '60',
      ...env,
    })
    this.#server = server
    this.#project = (await server.json<{ project_id: string }>(['projects', 'create', '--name', 'restarts'])).project_id
    this.#workloads = new Workloads(server, this.#project)
    const { tree } = this
    await git(server.dir, 'init', '--quiet', '--initial-branch=main', tree)
    for (const [path, text] of Object.entries(files)) await Bun.write(join(tree, path), text)
    await git(tree, 'add', '.')
    await git(tree, 'commit', '--quiet', '-m', 'Begin')
    await git(tree, 'push', '--quiet', gatewayOf(server, { project_id: this.#project }), 'main')
  }

  async end(): Promise<void> {
    await this.#model.close()
    const server = this.#server
    await server?.svc(['self-host', 'stop', '--sessions'], { env: server.env })
    if (server?.isRunning) await server.exited
    if (server !== null) await removeFolder(server.dir)
  }

  async setToWork(): Promise<void> {
    const serve = 'BUN_BE_BUN=1 setsid nohup /usr/local/bin/svc server.mjs > /tmp/server.log 2>&1 &'
    const wait =
      'for i in $(seq 300); do curl -s -o /dev/null http://127.0.0.1:3000/ && break; sleep 0.1; done; echo "SERVES $((4*10))"'
    const untilPushed = {
      command: 'until git ls-remote --exit-code origin go > /dev/null 2>&1; do sleep 2; done; echo "ENDED $((20+2))"',
      description: 'Wait for the branch',
      // By default the runtime ends a command after two minutes.
      timeout: 900_000,
    }
    const long = script('echo "BEGUN $((10+1))"', `@bash ${JSON.stringify(untilPushed)}`)
    const begin = (prompt: string) => this.#begin(prompt)
    this.#agents = {
      talking: [await begin('TALK to me'), await begin('TALK more'), await begin('TALK on')],
      running: [await begin(long), await begin(long), await begin(long), await begin(long)],
      serving: await begin(script(serve, wait)),
      asking: await begin(script('echo "ASKED $((50+5))"')),
      quiet: await begin(script('echo "QUIET $((60+6))"')),
    }
    for (const id of this.#agents.talking) await this.#comesTo(id, 'word-5')
    for (const id of this.#agents.running) await this.#comesTo(id, 'BEGUN 11')
    await this.#comesTo(this.#agents.serving, 'SERVES 40')
    await this.#comesTo(this.#agents.quiet, 'QUIET 66')
    await until('the question', async () => (await this.#openQuestion()) !== undefined)
    for (const id of this.#all) this.#sandboxes.set(id, (await this.#sessionOf(id)).sandbox_url)
  }

  /** Everything goes on in the same sandboxes, and what an agent does reaches a reader again. */
  async expectAllGoOnOver(what: string, interrupt: (server: Server) => Promise<void>): Promise<void> {
    const streamsBefore = this.#model.streams
    const reader = this.#readWords(this.#agents.talking[0]!)
    await until('the first word', () => reader.words > 0)
    await interrupt(this.server)
    const wordsBefore = reader.words
    for (const id of this.#all) {
      const session = await until(`session ${id} to run`, async () => {
        const session = await this.#sessionOf(id)
        if (session.status !== 'running') throw new Error(`The session is ${session.status}: ${session.error}`)
        return session
      })
      expect([session.sandbox_url, session.last_turn_error]).toEqual([this.#sandboxes.get(id) ?? null, null])
    }
    await until('the model to be asked again', () => this.#model.streams >= streamsBefore + this.#agents.talking.length)
    await until('a word after the start', () => reader.words > wordsBefore)
    const page = `${this.#sandboxes.get(this.#agents.serving)}/proxy/3000/`
    await until('the page', async () => {
      const reply = await fetch(page, { headers: { authorization: `Bearer ${this.server.token}` } })
      return (await reply.text()) === 'a page'
    })
    expect(await this.#openQuestion()).toBeDefined()
    await this.workloads.expectGoOn()
    reader.stop()
    console.log(`the longest gap in a conversation over ${what}: ${Math.round(reader.longestGapMs)} ms`)
  }

  async expectEveryTurnEnds(): Promise<void> {
    this.#model.release()
    const { talking, running, asking } = this.#agents
    const sessions = `/v1/projects/${this.#project}/sessions`
    const question = (await this.#openQuestion())!
    const answer = `${sessions}/${asking}/questions/${question.question_id}/answer`
    await this.server.send('POST', answer, { answer: 'once' })
    for (const id of running) {
      const prompt = script('echo "PROMPTED $((70+7))"')
      await this.server.send('POST', `${sessions}/${id}/prompt`, { text: prompt })
    }
    // The agents wait for this branch, over a gateway that was away three times.
    const gateway = gatewayOf(this.server, { project_id: this.#project })
    await git(this.tree, 'push', '--quiet', gateway, 'main:go')
    for (const id of talking) await this.#comesTo(id, 'the-end')
    for (const id of running) await this.#comesTo(id, 'ENDED 22')
    for (const id of running) await this.#comesTo(id, 'PROMPTED 77')
    await this.#comesTo(asking, 'ASKED 55')
    for (const id of this.#all) {
      const session = await until('the turn to end', async () => {
        const found = await this.#read<Session & { is_busy: boolean }>(`/sessions/${id}?include=activity`)
        return found.is_busy ? null : found
      })
      expect([session.status, session.last_turn_error]).toEqual(['running', null])
    }
  }

  async #read<T>(path: string): Promise<T> {
    return (await (await this.server.api(`/v1/projects/${this.#project}${path}`)).json()) as T
  }

  #sessionOf(id: string): Promise<Session> {
    return this.#read(`/sessions/${id}`)
  }

  async #openQuestion(): Promise<Question | undefined> {
    const { questions } = await this.#read<{ questions: Question[] }>(`/sessions/${this.#agents.asking}/questions`)
    return questions.find(({ status }) => status === 'open')
  }

  async #begin(prompt: string): Promise<string> {
    const args = ['--no-wait', '--prompt', prompt, '--project', this.#project]
    return (await this.server.json<{ session_id: string }>(['sessions', 'new', ...args])).session_id
  }

  async #comesTo(id: string, mark: string): Promise<void> {
    await until(
      `session ${id} to come to ${mark}`,
      async () => {
        const { status, error } = await this.#sessionOf(id)
        if (status === 'failed' || status === 'stopped') throw new Error(`The session is ${status}: ${error}`)
        return JSON.stringify(await this.#read(`/sessions/${id}/transcript`)).includes(mark)
      },
      240_000,
    )
  }

  /** Reads the agent's words as a page does: it connects again whenever the stream of events ends. */
  #readWords(id: string) {
    const reading = new AbortController()
    const reader = { words: 0, longestGapMs: 0, stop: () => reading.abort() }
    let heardAt = performance.now()
    const hear = () => {
      reader.words += 1
      reader.longestGapMs = Math.max(reader.longestGapMs, performance.now() - heardAt)
      heardAt = performance.now()
    }
    const read = async () => {
      const { signal } = reading
      const reply = await this.server.api(`/v1/projects/${this.#project}/sessions/${id}/events`, { signal })
      if (!reply.ok) throw new Error(`The events answered ${reply.status}.`)
      const decoder = new TextDecoder()
      for await (const chunk of reply.body!) if (decoder.decode(chunk).includes('word-')) hear()
    }
    void (async () => {
      while (!reading.signal.aborted) await read().catch(() => Bun.sleep(100))
    })()
    return reader
  }
}
