/** `curl -fsSL <server>/install | sh`: the script, the checksums and the programs. Public: there is nothing secret in them. */
import { ServiceError } from '@svc/contract'
import type { Deps } from '../deps.ts'
import type { App } from '../http/mount.ts'
import script from './install.sh' with { type: 'text' }
import { Release } from './release.ts'

const text = { 'content-type': 'text/plain; charset=utf-8', 'x-content-type-options': 'nosniff' }

export function installRoutes(app: App, deps: Pick<Deps, 'config'>): void {
  const release = new Release(deps)
  // Read at each request: a server on a port the kernel chose learns its address late.
  const installer = () =>
    new Response(
      script.replaceAll('{origin}', () => shellSafe(deps.config.publicUrl)),
      {
        headers: { ...text, 'cache-control': 'no-cache' },
      },
    )
  app.get('/install', installer)
  app.get('/install/install.sh', installer)
  app.get('/install/SHA256SUMS', async () => {
    const archives = await release.archives()
    return new Response(archives.map(({ sha256, name }) => `${sha256}  ${name}\n`).join(''), { headers: text })
  })
  app.get('/install/:file', async (c) => {
    const archives = await release.archives()
    const found = archives.find(({ name }) => name === c.req.param('file'))
    if (found === undefined)
      throw new ServiceError('not_found', 'This server has no such program.', {
        hint:
          archives.length === 0
            ? 'It runs from source: npm run build makes its program.'
            : `It has ${archives.map(({ name }) => name).join(', ')}. npm run release makes the others.`,
      })
    return new Response(Bun.file(found.path).stream(), {
      headers: {
        'content-type': 'application/gzip',
        'content-length': String(found.bytes),
        'x-content-type-options': 'nosniff',
        'cache-control': 'no-cache',
      },
    })
  })
}

/** Between single quotes of a shell. An address of an http URL holds none; this does not rely on it. */
function shellSafe(url: string): string {
  return url.replaceAll("'", '%27')
}
