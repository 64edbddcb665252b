/**
 * Agents in the middle of a turn, of a model's answer or of a command, while each server of the cluster is replaced. None
 * of them loses its turn.
 */
import { expect } from 'bun:test'
import { mkdtemp } from 'node:fs/promises'
import { join } from 'node:path'

import type { Session } from '@svc/contract'

import { until } from '../e2e/harness.ts'
import type { talkingModel } from '../e2e/talking-model.ts'
import { image, type Installation, serversMax } from './installation.ts'

interface Agent {
  project: string
  session: string
  kind: 'talks' | 'runs'
}

const startMs = 900_000
const rollMs = 600_000
const lookEveryMs = 250

const script = (...lines: string[]) => ['Do this.', '', '```svc-script', ...lines, '```'].join('\n')

export class RollingDrill {
  readonly #at: Installation
  readonly #model: ReturnType<typeof talkingModel>
  #agents: Agent[] = []
  #projects: string[] = []
  #sandboxes = new Map<string, unknown>()

  constructor(at: Installation, model: ReturnType<typeof talkingModel>) {
    this.#at = at
    this.#model = model
  }

  /** Half of them in a model's answer, the others in a command. Each server is the home of some. */
  async begin(count: number): Promise<void> {
    for (let index = 0; index < serversMax; index++) this.#projects.push(await this.#makeProject(`roll-${index}`))
    const untilPushed = {
      command: 'until git ls-remote --exit-code origin go > /dev/null 2>&1; do sleep 2; done; echo "ENDED $((20+2))"',
      description: 'Wait for the branch',
      // By default the runtime ends a command after two minutes.
      timeout: 1_800_000,
    }
    const run = script('echo "BEGUN $((10+1))"', `@bash ${JSON.stringify(untilPushed)}`)
    for (let index = 0; index < count; index++) {
      const project = this.#projects[index % serversMax]!
      const kind = Math.floor(index / serversMax) % 2 === 0 ? 'talks' : 'runs'
      const body = { initial_prompt: kind === 'talks' ? 'TALK to me' : run }
      const { session_id } = await this.#at.send<Session>('POST', `/v1/projects/${project}/sessions`, body)
      this.#agents.push({ project, session: session_id, kind })
      // One for each server at a time: a machine of two cores starts no more runtimes within their time.
      if (index % serversMax === serversMax - 1 || index === count - 1)
        for (const agent of this.#agents.slice(-serversMax))
          await this.#comesTo(agent, agent.kind === 'talks' ? 'word-3' : 'BEGUN 11')
    }
    for (const agent of this.#agents) this.#sandboxes.set(agent.session, (await this.#sessionOf(agent)).sandbox)
  }

  /** Every server is another pod afterwards, and every agent is where it was, in the same turn. */
  async expectAllGoOnOver(what: string, replace: () => Promise<string>): Promise<void> {
    const uids = await this.#uids()
    const streams = this.#model.streams
    const looking = new AbortController()
    const outages = Promise.all(this.#projects.map((project) => this.#longestOutage(project, looking.signal)))
    const wanted = await replace()
    await until(
      'every server to be another',
      async () => !(await this.#uids()).some((uid) => uids.includes(uid)),
      rollMs,
    )
    await this.#at.rolledOut(wanted)
    for (const agent of this.#agents) {
      const session = await until(`session ${agent.session}`, () => this.#sessionOf(agent).catch(notYet))
      expect([session.status, session.last_turn_error]).toEqual(['running', null])
      expect(session.sandbox).toEqual(this.#sandboxes.get(agent.session) as typeof session.sandbox)
    }
    const talking = this.#agents.filter(({ kind }) => kind === 'talks').length
    await until('each cut answer to be asked for again', () => this.#model.streams >= streams + talking)
    looking.abort()
    const longest = (await outages).map((ms) => `${(ms / 1000).toFixed(1)} s`).join(', ')
    console.log(`${what} with ${this.#agents.length} agents: the longest outage of each project was ${longest}`)
  }

  async expectEveryTurnEnds(): Promise<void> {
    this.#model.release()
    for (const project of this.#projects) await this.#push(project, 'go')
    for (const agent of this.#agents) await this.#comesTo(agent, agent.kind === 'talks' ? 'the-end' : 'ENDED 22')
    for (const agent of this.#agents) {
      const session = await until('the turn to end', async () => {
        const path = `${this.#pathOf(agent)}?include=activity`
        const found = await this.#at.send<Session & { is_busy: boolean }>('GET', path)
        return found.is_busy ? null : found
      })
      expect([session.status, session.last_turn_error]).toEqual(['running', null])
    }
  }

  async end(): Promise<void> {
    for (const agent of this.#agents) await this.#at.send('POST', `${this.#pathOf(agent)}/stop`)
  }

  async #makeProject(name: string): Promise<string> {
    const { project_id } = await this.#at.send<{ project_id: string }>('POST', '/v1/projects', { name })
    await this.#push(project_id, 'main')
    return project_id
  }

  async #push(project: string, branch: string): Promise<void> {
    const tree = await mkdtemp(join(this.#at.folder, 'tree-'))
    await this.#at.git(tree, ['init', '--quiet', `--initial-branch=${branch}`])
    await Bun.write(join(tree, 'a.txt'), branch)
    await this.#at.git(tree, ['add', '.'])
    await this.#at.git(tree, ['commit', '--quiet', '-m', 'Begin'])
    await this.#at.git(tree, ['push', '--quiet', this.#at.gateway(project), branch])
  }

  async #uids(): Promise<string[]> {
    return (await this.#at.servers()).map(({ metadata }) => metadata.uid)
  }

  #pathOf = ({ project, session }: Agent) => `/v1/projects/${project}/sessions/${session}`

  #sessionOf(agent: Agent): Promise<Session> {
    return this.#at.send('GET', this.#pathOf(agent))
  }

  async #comesTo(agent: Agent, mark: string): Promise<void> {
    await until(
      `session ${agent.session} to come to ${mark}`,
      async () => {
        const { status, error } = await this.#sessionOf(agent)
        if (status === 'failed' || status === 'stopped') throw new Error(`The session is ${status}: ${error}`)
        const path = `${this.#pathOf(agent)}/transcript`
        return JSON.stringify(await this.#at.send('GET', path)).includes(mark)
      },
      startMs,
    )
  }

  async #longestOutage(project: string, signal: AbortSignal): Promise<number> {
    let longest = 0
    let answeredAt = performance.now()
    while (!signal.aborted) {
      const reply = await this.#at.api(`/v1/projects/${project}`).catch(notYet)
      await reply?.arrayBuffer()
      if (reply?.ok === true) {
        longest = Math.max(longest, performance.now() - answeredAt)
        answeredAt = performance.now()
      }
      await Bun.sleep(lookEveryMs)
    }
    return longest
  }
}

/** A server is being replaced. */
function notYet(): null {
  return null
}

/** Another name of the same image: an upgrade, as the cluster sees it. */
export const nextImage = `${image}-next`
