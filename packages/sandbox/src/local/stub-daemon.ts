/**
 * A PID 1 for the drivers' tests: it answers health and runs commands, as the agent or as itself. A test compiles it
 * into the program for the driver; it is not part of the product.
 */
import { chownSync } from 'node:fs'

import { readStatus, serveLink } from '@svc/link'

import { linkPort } from '../layout.ts'

const agent = ['setpriv', '--reuid=1000', '--regid=1000', '--clear-groups', '--inh-caps=-all', '--no-new-privs']
const isRoot = process.getuid?.() === 0

let args = process.argv.slice(2)
process.on('SIGTERM', () => process.exit(0))

/** Like the real PID 1 on another machine. */
async function waitForIdentity(serverKey: string): Promise<void> {
  const log = (message: string) => void process.stderr.write(`${message}\n`)
  const link = await serveLink({ port: linkPort, serverKey, runDir: '/run/svc', status: readStatus, log })
  process.stdout.write(`svc-link ${link.publicKey}\n`)
  const identity = await link.booted
  args = identity.args
  for (const name of Object.keys(process.env)) delete process.env[name]
  Object.assign(process.env, identity.env)
}
if (args.includes('--link')) await waitForIdentity(args[args.indexOf('--link') + 1]!)

interface Order {
  command: string[]
  as: 'agent' | 'daemon'
}

if (isRoot) for (const folder of ['/workspace', '/opt/svc/home']) chownSync(folder, 1000, 1000)

async function run(order: Order): Promise<Response> {
  const limit = args[args.indexOf('--agent-processes') + 1]
  const wall = order.as === 'agent' && isRoot ? ['prlimit', `--nproc=${limit}`, ...agent] : []
  const child = Bun.spawn([...wall, ...order.command], {
    cwd: '/workspace',
    env: process.env,
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [stdout, stderr] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
  return Response.json({ code: await child.exited, stdout, stderr })
}

const leaseMs = 1000 * Number(args[args.indexOf('--lease') + 1])
let askedAt = performance.now()

async function answer(req: Request): Promise<Response> {
  askedAt = performance.now()
  const url = new URL(req.url)
  if (url.pathname === '/svc/health') return Response.json({ daemon: 'ok', status: 'ready' })
  if (url.pathname === '/run') return run((await req.json()) as Order)
  if (url.pathname === '/env') return Response.json(process.env)
  if (url.pathname === '/exit') {
    process.stderr.write('the stub was told to end\n')
    setTimeout(() => process.exit(Number(url.searchParams.get('code'))), 1)
    return new Response('bye')
  }
  return new Response('no', { status: 404 })
}

if (process.env['STUB_DIES'] !== undefined) {
  process.stderr.write(`the stub dies at once: ${process.env['STUB_DIES']}\n`)
  process.exit(3)
}
// Like the real PID 1: the end of this pipe means that the server has ended.
if (args.includes('--lifeline')) process.stdin.on('end', () => process.exit(0)).resume()
// And a lease: without requests, no server is left.
if (args.includes('--lease')) setInterval(() => performance.now() - askedAt > leaseMs && process.exit(0), leaseMs / 10)
// Only its own uid may connect, as with the real daemon.
process.umask(0o177)
Bun.serve({ unix: '/run/svc/daemon.sock', fetch: answer })
process.umask(0o022)
Bun.serve({ port: 8000, hostname: '127.0.0.1', fetch: () => new Response('ok') })
