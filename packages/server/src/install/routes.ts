/** `curl -fsSL <server>/install | sh`: the script, the checksums and the programs. Public, as it contains no secrets. */
import { ServiceError } from '@svc/contract'
import type { Deps } from '../deps.ts'
import type { App } from '../http/mount.ts'
import script from './install.sh' with { type: 'text' }
import { Release } from './release.ts'

const text = { 'content-type': 'text/plain; charset=utf-8', 'x-content-type-options': 'nosniff' }

export function installRoutes(app: App, deps: Pick<Deps, 'config'>): void {
  const release = new Release(deps)
  // Read per request: a server on a port chosen by the kernel learns its address late.
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
      throw new ServiceError('not_found', 'This server does not offer this program.', {
        hint:
          archives.length === 0
            ? 'It runs from source: run npm run build to build the program.'
            : `It offers ${archives.map(({ name }) => name).join(', ')}. Run npm run release to build the others.`,
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

/** Quotes for a shell. The address of an http URL has no single quotes; this does not rely on it. */
function shellSafe(url: string): string {
  return url.replaceAll("'", '%27')
}
