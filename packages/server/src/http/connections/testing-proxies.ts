/** A real nginx and Caddy on loopback, with the configuration that docs/operate/reverse-proxy.md shows. */
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { makeCertificate } from '@svc/git/testing'

const root = join(import.meta.dir, '../../../../..')
/** Debian's packages as npm test unpacks them. Installing them would start their services. */
const unpacked = join(root, 'node_modules/.cache/reverse-proxies/usr')

/** nginx-balanced: that of docs/operate/several-servers.md. */
export type ProxyName = 'nginx' | 'nginx-balanced' | 'nginx-stream' | 'caddy'

export function findProxy(name: ProxyName): string | null {
  if (name === 'nginx-stream') return findStreamModule() === null ? null : findProxy('nginx')
  if (name === 'nginx-balanced') return findProxy('nginx')
  const candidates = [Bun.which(name), join(unpacked, 'sbin', name), join(unpacked, 'bin', name)]
  return candidates.find((path) => path !== null && existsSync(path)) ?? null
}

/** Must have the same version as nginx: a module loads into no other. */
function findStreamModule(): string | null {
  const folder = findProxy('nginx')?.startsWith(unpacked) === true ? unpacked : '/usr'
  const path = join(folder, 'lib/nginx/modules/ngx_stream_module.so')
  return existsSync(path) ? path : null
}

export interface Proxy {
  close(): Promise<void>
}

/** Listens at `port` in front of `upstream`, with the block of the page or another one. Writes only below `dir`. */
export async function startProxy(
  name: ProxyName,
  { dir, port, upstream, shown: given }: { dir: string; port: number; upstream: number; shown?: string },
): Promise<Proxy> {
  mkdirSync(dir, { recursive: true })
  const [key, cert] = [join(dir, 'key.pem'), join(dir, 'cert.pem')]
  const made = makeCertificate('svc.example.com', { names: ['svc.example.com', '*.preview.example.com'] })
  writeFileSync(key, made.key)
  writeFileSync(cert, made.cert)
  const shown = (given ?? blockOf(name))
    .replaceAll('/etc/ssl/svc/fullchain.pem', cert)
    .replaceAll('/etc/ssl/svc/privkey.pem', key)
    .replaceAll(/(127\.0\.0\.1|10\.0\.0\.[789]):8420/g, `127.0.0.1:${upstream}`)
  const config = join(dir, 'config')
  writeFileSync(config, name === 'caddy' ? caddyAround(shown, port) : nginxAround(shown, dir, port))
  const args =
    name === 'caddy' ? ['run', '--adapter', 'caddyfile', '--config', config] : ['-e', 'stderr', '-p', dir, '-c', config]
  const env = { PATH: process.env.PATH, HOME: dir, XDG_DATA_HOME: dir, XDG_CONFIG_HOME: dir }
  const child = spawn(findProxy(name) ?? name, args, { env, stdio: ['ignore', 'ignore', 'pipe'] })
  let log = ''
  child.stderr.on('data', (chunk: Buffer) => (log = (log + chunk.toString()).slice(-4000)))
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()))
  await listens(port, () => {
    if (child.exitCode !== null) throw new Error(`${name} ended:\n${log}`)
  })
  return {
    async close() {
      child.kill('SIGTERM')
      await ended
    },
  }
}

export const balancerBlocks = (language: 'nginx' | 'caddyfile') =>
  [...readPage('several-servers').matchAll(new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``, 'g'))].map(
    ([, text]) => text!,
  )

const readPage = (name: string) => readFileSync(join(root, `docs/operate/${name}.md`), 'utf8')

/** The upstreams above the server, whose lines the second block replaces. */
function balancedNginx(): string {
  const [upstreams, lines] = balancerBlocks('nginx') as [string, string]
  const rest = blockOf('nginx').replace(/^ *proxy_(pass|read_timeout) .*\n/gm, '')
  return upstreams + rest.replace('location / {', `location / {\n${lines}`)
}

export function blockOf(name: ProxyName): string {
  if (name === 'nginx-balanced') return balancedNginx()
  const page = readPage('reverse-proxy')
  const [language, start] = { nginx: ['nginx', ''], 'nginx-stream': ['nginx', 'stream '], caddy: ['caddyfile', ''] }[
    name
  ]
  const block = new RegExp(`\`\`\`${language}\\n(${start}[\\s\\S]*?)\`\`\``).exec(page)?.[1]
  if (block === undefined) throw new Error(`The page shows no configuration for ${name}.`)
  return block
}

/** The part of a distribution's nginx.conf around the files in conf.d. */
function nginxAround(shown: string, dir: string, port: number): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (each) => `${each}_temp_path ${dir}/${each};`,
  )
  const listening = shown.replace('listen 443 ssl', `listen 127.0.0.1:${port} ssl`)
  const isStream = shown.startsWith('stream ')
  return `${isStream ? `load_module ${findStreamModule()};` : ''}
daemon off; master_process off; pid ${dir}/pid; error_log stderr;
events { worker_connections 512; }
${isStream ? listening : `http { access_log off; ${temporary.join(' ')}\n${listening}\n}`}
`
}

function caddyAround(shown: string, port: number): string {
  return `{
	admin off
	auto_https disable_redirects
	default_bind 127.0.0.1
	https_port ${port}
}
${shown}`
}

async function listens(port: number, check: () => void): Promise<void> {
  const deadline = Date.now() + 30_000
  while (Date.now() < deadline) {
    check()
    const isThere = await new Promise<boolean>((resolve) => {
      const socket = connect(port, '127.0.0.1', () => resolve(true))
      socket.on('error', () => resolve(false))
      socket.on('close', () => resolve(false))
      socket.on('connect', () => socket.destroy())
    })
    if (isThere) return
    await Bun.sleep(20)
  }
  throw new Error(`Nothing listens at port ${port}.`)
}
