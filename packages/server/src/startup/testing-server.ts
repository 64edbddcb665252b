/** A server in a process of its own, run from source on the PostgreSQL of a test. */
import { join } from 'node:path'

const main = JSON.stringify(join(import.meta.dir, '../main.ts'))
const program = `await (await import(${main})).runServer([], { rememberOwner: async () => null, knownSettings: async () => [] })`

export interface BootedServer {
  child: Bun.Subprocess
  /** Null when the server ended before it was ready. */
  url: string | null
  errors(): Promise<string>
}

/** Resolves when the server is ready, or when it has ended. */
export async function bootServer(place: { dir: string; databaseUrl: string; token: string }): Promise<BootedServer> {
  const child = Bun.spawn([process.execPath, '--eval', program], {
    stdout: 'pipe',
    stderr: 'pipe',
    env: {
      PATH: '/usr/local/bin:/usr/bin:/bin',
      DATABASE_URL: place.databaseUrl,
      SVC_DATA_DIR: join(place.dir, 'data'),
      SVC_MASTER_KEY_FILE: join(place.dir, 'master.key'),
      SVC_BOOTSTRAP_TOKEN: place.token,
      SVC_SANDBOX_DRIVER: 'none',
      SVC_ALLOW_PRIVATE_GIT_HOSTS: '1',
      SVC_PORT: '0',
      SVC_LOG: 'json',
    },
  })
  const errors = new Response(child.stderr).text()
  let output = ''
  for await (const chunk of child.stdout.pipeThrough(new TextDecoderStream())) {
    output += chunk
    const url = /Dashboard +(http:\S+)/.exec(output)?.[1]
    if (url !== undefined) return { child, url, errors: () => errors }
  }
  return { child, url: null, errors: () => errors }
}
