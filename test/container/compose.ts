/** deploy/compose in an engine of the test's own: the files as they are, and the commands that docs/operate/container.md shows. */
import { existsSync, readdirSync } from 'node:fs'
import { cp, mkdtemp } from 'node:fs/promises'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { startTestEngine } from '../../packages/sandbox/src/container/testing-engine.ts'
import { type Ran, removeFolder, root, run } from '../e2e/harness.ts'

type Engine = Exclude<Awaited<ReturnType<typeof startTestEngine>>, string>

/** scripts/test-container.mjs builds it there. */
function findCompose(): string | null {
  const cache = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'svc-test-container')
  const name = existsSync(cache) ? readdirSync(cache).find((file) => /^docker-compose-v[\d.]+$/.test(file)) : undefined
  return name === undefined ? Bun.which('docker-compose') : join(cache, name)
}

export class ComposeInstallation {
  readonly dir: string
  readonly engine: Engine
  readonly #compose: string
  /** What an operator writes into `.env` beside the file. */
  readonly settings: Record<string, string> = {}

  private constructor(dir: string, engine: Engine, compose: string) {
    this.dir = dir
    this.engine = engine
    this.#compose = compose
  }

  /** Returns the reason as a sentence when it cannot run here. */
  static async begin(): Promise<ComposeInstallation | string> {
    const compose = findCompose()
    if (compose === null) return 'Docker Compose is not there: npm run test:container builds it'
    const engine = await startTestEngine({ ownNetwork: true })
    if (typeof engine === 'string') return engine
    const dir = await mkdtemp(join(tmpdir(), 'svc-compose-'))
    await cp(join(root, 'deploy/compose'), join(dir, 'compose'), { recursive: true })
    return new ComposeInstallation(dir, engine, compose)
  }

  async docker(...args: string[]): Promise<string> {
    return succeeded(args, await run(['docker', ...args], { env: this.engine.env, cwd: this.dir }))
  }

  /** `docker compose` in the folder of the file. */
  async compose(...args: string[]): Promise<string> {
    const env = { ...this.engine.env, ...this.settings }
    return succeeded(args, await run([this.#compose, ...args], { env, cwd: join(this.dir, 'compose') }))
  }

  svc(...args: string[]): Promise<string> {
    return this.compose('exec', '-T', 'server', 'svc', ...args)
  }

  async json<T>(...args: string[]): Promise<T> {
    return JSON.parse(await this.svc(...args, '--json')) as T
  }

  /** A program on the machine of the engine, where the port is published. */
  async outside(command: string[], cwd = this.dir): Promise<string> {
    const env = { PATH: process.env['PATH'] ?? '', HOME: this.dir, GIT_TERMINAL_PROMPT: '0' }
    return succeeded(command, await run(['nsenter', `--net=/proc/${this.engine.pid}/ns/net`, ...command], { env, cwd }))
  }

  async end(): Promise<void> {
    await this.engine.close()
    await removeFolder(this.dir)
  }
}

function succeeded(args: string[], { code, stdout, stderr }: Ran): string {
  if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}: ${stderr}${stdout}`)
  return stdout.trim()
}
