/**
 * Replaces Apache in git's own tests and takes the same arguments: `-v`, `-d ROOT … -c "Listen HOST:PORT" -k start|stop`.
 * apache.ts does what Apache does in those tests (redirects, passwords, broken scripts); our own git host serves every
 * repository.
 */
import { spawn } from 'node:child_process'
import { existsSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { answerAsApache } from './apache.ts'

const waitMs = 30_000

const args = process.argv.slice(2)
if (args.includes('-v')) console.log('Server version: Apache/2.4.0 (the git host of svc in its place)')
else await act(valueOf('-k'))

async function act(action: string): Promise<void> {
  const root = valueOf('-d')
  const pidFile = join(root, 'httpd.pid')
  if (action === 'start') return start(root, pidFile)
  if (action === 'stop') return stop(pidFile)
  serve(root, pidFile)
}

async function start(root: string, pidFile: string): Promise<void> {
  const log = openSync(join(root, 'error.log'), 'a')
  const inBackground = args.map((word, at) => (args[at - 1] === '-k' ? 'serve' : word))
  const child = spawn(process.execPath, [import.meta.filename, ...inBackground], {
    cwd: root,
    stdio: ['ignore', log, log],
    detached: true,
  })
  child.unref()
  await until(() => existsSync(pidFile) || child.exitCode !== null)
  if (child.exitCode !== null) process.exitCode = 1
}

async function stop(pidFile: string): Promise<void> {
  if (!existsSync(pidFile)) return
  const pid = Number(readFileSync(pidFile, 'utf8'))
  process.kill(pid, 'SIGTERM')
  await until(() => !existsSync(pidFile))
}

function serve(root: string, pidFile: string): void {
  const listen = args.find((word) => word.startsWith('Listen '))
  const [, host = '', port = ''] = /^Listen ([\d.]+):(\d+)$/.exec(listen ?? '') ?? []
  // git keeps its connections short; nothing here needs to outlive a test.
  const server = createServer((request, response) => void answerAsApache(root, request, response))
  server.listen(Number(port), host, () => writeFileSync(pidFile, String(process.pid)))
  process.on('SIGTERM', () => {
    server.close()
    server.closeAllConnections()
    rmSync(pidFile, { force: true })
    process.exit()
  })
}

function valueOf(flag: string): string {
  return args[args.indexOf(flag) + 1] ?? ''
}

async function until(isSo: () => boolean): Promise<void> {
  const deadline = Date.now() + waitMs
  while (!isSo()) {
    if (Date.now() > deadline) throw new Error('The server did not start or stop in time.')
    await delay(20)
  }
}
