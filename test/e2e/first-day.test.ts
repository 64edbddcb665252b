/** First-day trouble: one clear line each, exit code 1, nothing changed. */
import { expect, test } from 'bun:test'
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { serveHttpBackend } from '@svc/git/testing'
import { git, makeFirstCommit, program, run, Server, until } from './harness.ts'

const minute = 60_000

async function withDir<T>(work: (dir: string) => Promise<T>): Promise<T> {
  const dir = await mkdtemp(join(tmpdir(), 'svc-first-'))
  try {
    return await work(dir)
  } finally {
    await rm(dir, { recursive: true, force: true })
  }
}

function environment(dir: string, more: Record<string, string> = {}): Record<string, string> {
  return {
    PATH: process.env.PATH ?? '',
    HOME: dir,
    SVC_PORT: '0',
    SVC_DATA_DIR: join(dir, 'data'),
    SVC_MASTER_KEY_FILE: join(dir, 'key'),
    SVC_CONFIG_FILE: join(dir, 'config.json'),
    SVC_LOG: 'json',
    ...more,
  }
}

/** The lines for the user, without the log. */
function lines(text: string): string[] {
  return text.split('\n').filter((line) => line !== '' && !line.startsWith('{'))
}

test(
  'reports a port in use in one line',
  () =>
    withDir(async (dir) => {
      using taken = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response('busy') })
      const ran = await run([program, 'server'], { env: environment(dir, { SVC_PORT: String(taken.port) }) })
      expect(ran.code).toBe(1)
      expect(lines(ran.stderr)).toHaveLength(1)
      expect(ran.stderr).toContain('is in use')
      expect(await readdir(dir)).toEqual([])
    }),
  minute,
)

test(
  'reports all invalid settings at once',
  () =>
    withDir(async (dir) => {
      const ran = await run([program, 'server'], {
        env: environment(dir, { SVC_PORT: 'http', SVC_SESSION_LIMIT: '-1', SVC_BOOTSTRAP_TOKEN: 'svc_pat_short' }),
      })
      expect(ran.code).toBe(1)
      for (const name of ['SVC_PORT', 'SVC_SESSION_LIMIT', 'SVC_BOOTSTRAP_TOKEN']) expect(ran.stderr).toContain(name)
      expect(ran.stderr).not.toContain('    at ')
    }),
  minute,
)

test(
  'refuses the data folder of a newer version',
  async () => {
    const server = await Server.start()
    try {
      const client = new pg.Client({ connectionString: await postgresUrl(server) })
      await client.connect()
      await client.query("insert into schema_migrations (version, name) values (9999, 'from the future')")
      await client.end()
      await server.kill('SIGTERM')
      const ran = await run([program, 'server'], { env: server.env })
      expect(ran.code).toBe(1)
      expect(lines(ran.stderr)).toHaveLength(1)
      expect(ran.stderr).toContain('newer svc')
    } finally {
      await server.end()
    }
  },
  2 * minute,
)

test(
  'reports a full disk',
  () =>
    withDir(async (dir) => {
      const data = join(dir, 'data')
      await mkdir(data)
      const mounted = await run(['mount', '-t', 'tmpfs', '-o', 'size=4m,mode=0700', 'tmpfs', data])
      if (mounted.code !== 0) return console.log('not run: this user cannot mount a small file system')
      try {
        const ran = await run([program, 'server'], { env: environment(dir) })
        expect(ran.code).toBe(1)
        expect(lines(ran.stderr)).toHaveLength(1)
        expect(ran.stderr).toMatch(/full|space/)
        expect(await readdir(data)).not.toContain('postgres')
      } finally {
        await run(['umount', data])
      }
    }),
  minute,
)

test(
  'starts without bubblewrap, and a failed session names the command that installs it',
  async () => {
    // A mount namespace of its own, in which bwrap is no program.
    const hide = 'test ! -e /usr/bin/bwrap || mount --bind /dev/null /usr/bin/bwrap; exec "$0" "$@"'
    const server = await Server.start({ DOCKER_HOST: 'unix:///nonexistent' }, [
      'unshare',
      ...(process.getuid?.() === 0 ? [] : ['-Ur']),
      '-m',
      'sh',
      '-c',
      hide,
    ])
    try {
      expect(server.output).toContain('Sessions cannot start yet: no sandbox driver works on this machine.')
      expect(server.output).toContain('bubblewrap (SVC_SANDBOX_DRIVER=local): bubblewrap is not installed.')
      expect(server.output).toContain('Docker or Podman (SVC_SANDBOX_DRIVER=container): No container engine answers')
      expect(server.output).toContain('self-host doctor')
      const ready = (await (await server.api('/v1/ready')).json()) as {
        sandbox: { ready: boolean; install: string | null }
      }
      expect(ready.sandbox.ready).toBe(false)
      expect(ready.sandbox.install).toContain('bubblewrap')

      const { project_id } = await server.json<{ project_id: string }>(['projects', 'create', '--name', 'first'])
      await makeFirstCommit(server, project_id)
      const made = await server.json<{ session_id: string }>(['sessions', 'new', '--no-wait', '--project', project_id])
      const session = await until('the session to fail', async () => {
        const { session: now } = await server.json<{ session: { status: string; error: string | null } }>([
          'sessions',
          'info',
          made.session_id,
          '--project',
          project_id,
        ])
        return now.status === 'failed' && now
      })
      expect(session.error).toContain(ready.sandbox.install!)
    } finally {
      await server.end()
    }
  },
  2 * minute,
)

test(
  'refuses a repository that can be read but not written',
  async () => {
    const server = await Server.start({ SVC_SANDBOX_DRIVER: 'none' })
    try {
      const bare = join(server.dir, 'readonly.git')
      await git(server.dir, 'init', '--quiet', '--bare', '--initial-branch=main', bare)
      const host = await serveHttpBackend(bare, { readOnly: true })
      try {
        const ran = await server.svc(['projects', 'create', '--repo', host.url])
        expect(ran.code).toBe(1)
        expect(ran.stderr).toContain('can be read but not written')
        expect(ran.stderr).toContain('--git-token')
        expect(await server.json<unknown[]>(['projects', 'ls'])).toEqual([])
      } finally {
        await host.close()
      }
    } finally {
      await server.end()
    }
  },
  2 * minute,
)

/** The fifth line of postmaster.pid is the folder of its socket. */
async function postgresUrl(server: Server): Promise<string> {
  const lines = (await Bun.file(join(server.env.SVC_DATA_DIR!, 'postgres/postmaster.pid')).text()).split('\n')
  return `postgresql://svc@localhost/postgres?host=${encodeURIComponent(lines[4] ?? '')}`
}
