/** Hosts on loopback that a sandbox may reach by its way out: a page, the same with TLS, a git repository, an npm registry and a Python index. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'

import { makeCertificate } from '@svc/git/testing'
import { $ } from 'bun'
import pino from 'pino'

import { type EgressGate, makeEgressGate } from '../../packages/server/src/egress/gate.ts'
import { publicInternet } from '../../packages/server/src/egress/dial.ts'

export interface CanaryHosts {
  gate: EgressGate
  /** For `*.canary.test`. */
  port: number
  tlsPort: number
  /** Paths that were asked for. */
  asked: string[]
  close(): Promise<void>
}

export async function startCanaryHosts(folder: string, origin: string): Promise<CanaryHosts> {
  const asked: string[] = []
  const files = await makeFiles(folder, origin)
  const answer = (req: Request): Response => {
    const url = new URL(req.url)
    asked.push(`${url.hostname}${url.pathname}`)
    if (url.pathname === '/page') return new Response('the page')
    if (url.pathname === '/demo') return Response.json(npmPackage(url.origin))
    if (url.pathname === '/simple/demo/') return new Response(pythonIndex, { headers: { 'content-type': 'text/html' } })
    const found = files(url.pathname)
    // git asks for files that a repository may lack. A file that is not there breaks the connection, not the request.
    return found === null || !existsSync(found)
      ? new Response('not here', { status: 404 })
      : new Response(Bun.file(found))
  }
  const plain = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: answer })
  const secure = Bun.serve({ port: 0, hostname: '127.0.0.1', tls: makeCertificate('tls.canary.test'), fetch: answer })
  return {
    gate: makeEgressGate({
      folder: join(folder, 'egress'),
      operator: 'any',
      log: pino({ level: 'silent' }),
      // The names of this test lead to this machine, and they alone may.
      dial: {
        resolve: async (host) => (host.endsWith('.canary.test') ? ['127.0.0.1'] : []),
        closed: (address, port) => (address === '127.0.0.1' ? null : publicInternet.closed(address, port)),
      },
    }),
    port: plain.port!,
    tlsPort: secure.port!,
    asked,
    close: async () => {
      await plain.stop(true)
      await secure.stop(true)
    },
  }
}

const wheel = 'demo-1.0.0-py3-none-any.whl'
const pythonIndex = `<!doctype html><a href="/files/${wheel}">${wheel}</a>`

const npmPackage = (base: string) => ({
  name: 'demo',
  'dist-tags': { latest: '1.0.0' },
  versions: { '1.0.0': { name: 'demo', version: '1.0.0', dist: { tarball: `${base}/files/demo-1.0.0.tgz` } } },
})

async function makeFiles(folder: string, origin: string): Promise<(path: string) => string | null> {
  await $`mkdir -p ${folder}/files ${folder}/npm/package && git clone -q --bare ${origin} ${folder}/repo.git && git -C ${folder}/repo.git update-server-info`.quiet()
  await Bun.write(`${folder}/npm/package/package.json`, '{"name":"demo","version":"1.0.0"}')
  await $`tar -czf ${folder}/files/demo-1.0.0.tgz -C ${folder}/npm package`
  const metadata = { METADATA: 'Metadata-Version: 2.1\nName: demo\nVersion: 1.0.0\n', RECORD: '' }
  const tag = { WHEEL: 'Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n' }
  const entries = JSON.stringify({
    'demo.py': '',
    ...Object.fromEntries(
      Object.entries({ ...metadata, ...tag }).map(([name, text]) => [`demo-1.0.0.dist-info/${name}`, text]),
    ),
  })
  const script =
    'import json,sys,zipfile\nz=zipfile.ZipFile(sys.argv[1],"w")\n[z.writestr(n,t) for n,t in json.loads(sys.argv[2]).items()]\nz.close()'
  if (Bun.which('python3') !== null) await $`python3 -c ${script} ${folder}/files/${wheel} ${entries}`
  return (path) => {
    if (path.includes('..')) return null
    if (path.startsWith('/files/')) return join(folder, path)
    return path.startsWith('/repo.git/') ? join(folder, path) : null
  }
}
