/** An app and two checks that go on while their server is away: the part of the restart drill that is no agent's. */
import { expect } from 'bun:test'
import { join } from 'node:path'
import type { App, AppLogLine, ChangeRequestChecks, CheckLogLine } from '@svc/contract'
import { processesWith } from '../../packages/sandbox/src/conformance/testing-sandboxes.ts'
import { look } from '../torture/apps/ingress.ts'
import { gatewayOf, git, type Server, until } from './harness.ts'

/** In the command line of the check that ends while no server is there. */
const briefly = `10.${process.pid}`
const ticksMax = 160

export const workloadFiles = {
  'svc.toml': `[[apps]]
slug = "site"
command = "BUN_BE_BUN=1 exec svc app.mjs"

[[checks]]
name = "ticks"
command = "for tick in $(seq ${ticksMax}); do echo tick-$tick; sleep 0.5; done"

[[checks]]
name = "brief"
command = "echo brief-began; sleep ${briefly}; echo brief-ended; exit 7"
`,
  // Answers with an id of its process, and logs each path once.
  'app.mjs': `const id = crypto.randomUUID()
Bun.serve({ port: Number(process.env.PORT), hostname: '127.0.0.1', fetch(request) {
  const { pathname } = new URL(request.url)
  if (pathname !== '/') console.log('asked for ' + pathname)
  return new Response(id)
} })
`,
}

export class Workloads {
  readonly #server: Server
  readonly #project: string
  #changeRequest = ''
  #appProcess = ''

  constructor(server: Server, project: string) {
    this.#server = server
    this.#project = project
  }

  async begin(tree: string): Promise<void> {
    await until('the app', async () => (await this.#app()).state === 'running')
    this.#appProcess = await this.#askApp('/first')
    await git(tree, 'checkout', '--quiet', '-b', 'proposed')
    await Bun.write(join(tree, 'proposed.txt'), 'proposed\n')
    await git(tree, 'add', '.')
    await git(tree, 'commit', '--quiet', '-m', 'Propose')
    await git(tree, 'push', '--quiet', gatewayOf(this.#server, { project_id: this.#project }), 'proposed')
    await git(tree, 'checkout', '--quiet', 'main')
    const { cr_id } = await this.#server.json<{ cr_id: string }>([
      ...['cr', 'open', '--title', 'Proposed', '--head', 'proposed', '--project', this.#project],
    ])
    this.#changeRequest = cr_id
    await this.#checkWrites('ticks', 'tick-1')
  }

  /** The same process of the app answers, and no check began again. */
  async expectGoOn(): Promise<void> {
    expect(await this.#askApp('/')).toBe(this.#appProcess)
    const check = await this.#check('ticks')
    expect([check?.starts, check?.reason]).toEqual([1, null])
  }

  /** Begins the brief check again, which is to end while the server is away. */
  async beginBriefCheck(): Promise<void> {
    await until('the brief check to end', async () => (await this.#check('brief'))?.status === 'failed')
    const checks = `/v1/projects/${this.#project}/change-requests/${this.#changeRequest}/checks`
    await this.#server.send('POST', `${checks}/rerun`, { name: 'brief' })
    await this.#checkWrites('brief', 'brief-began')
    await this.#askApp('/second')
  }

  async untilBriefCheckEnded(): Promise<void> {
    await until('the brief check to end without a server', () => processesWith(briefly).length === 0)
  }

  /** Every line of each log is there once, and the check that ended alone has its result. */
  async expectWholeLogs(): Promise<void> {
    const brief = await this.#checkThatIs('brief', 'failed')
    expect([brief.attempt, brief.exit_code, brief.output, brief.starts]).toEqual([
      ...[2, 7, ['brief-began', 'brief-ended'], 1],
    ])
    const ticks = await this.#checkThatIs('ticks', 'passed')
    expect(ticks.output).toEqual(Array.from({ length: ticksMax }, (_, index) => `tick-${index + 1}`))
    expect(ticks.starts).toBe(1)
    await this.#askApp('/third')
    const asked = await until('the last line of the app', async () => {
      const { lines } = await this.#read<{ lines: AppLogLine[] }>('/apps/site/logs')
      const asked = lines.filter(({ text }) => text.startsWith('asked for')).map(({ text }) => text)
      return asked.includes('asked for /third') ? asked : null
    })
    expect(asked).toEqual(['asked for /first', 'asked for /second', 'asked for /third'])
  }

  #app(): Promise<App> {
    return this.#read('/apps/site')
  }

  /** Opens the app as a member's browser does. Its answer names its process. */
  async #askApp(path: string): Promise<string> {
    const { url } = await this.#read<{ url: string }>('/apps/site/open')
    const { cookie } = await look(url, null)
    return until(`the app to answer ${path}`, async () => {
      const { status, text } = await look(new URL(path, (await this.#app()).url).href, cookie)
      return status === 200 ? text : null
    })
  }

  #checkThatIs(name: string, status: string) {
    return until(`the check ${name} to be ${status}`, async () => {
      const found = await this.#check(name)
      return found?.status === status ? found : null
    })
  }

  #checkWrites(name: string, line: string) {
    return until(`the check ${name} to write ${line}`, async () => (await this.#check(name))?.output.includes(line))
  }

  async #check(name: string) {
    const checks = `/change-requests/${this.#changeRequest}/checks`
    const check = (await this.#read<ChangeRequestChecks>(checks)).checks.find((each) => each.name === name)
    if (check?.run_id == null) return null
    const { lines } = await this.#read<{ lines: CheckLogLine[] }>(`${checks}/${check.run_id}/log`)
    const output = lines.filter(({ stream }) => stream === 'output').map(({ text }) => text)
    return { ...check, output, starts: lines.filter(({ text }) => text.startsWith('attempt ')).length }
  }

  #read<T>(path: string): Promise<T> {
    return this.#server.send('GET', `/v1/projects/${this.#project}${path}`)
  }
}
