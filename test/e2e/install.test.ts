/** From `curl … | sh` to `svc uninstall`, each in a home of its own, and nothing that was cut short or changed on the way. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { lstat, mkdir, readdir, readFile, readlink, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { run, Server } from './harness.ts'

const archive = `svc-${process.platform}-${process.arch}.tar.gz`
let server: Server
let script: string
let homes = 0
beforeAll(async () => {
  server = await Server.start({ SVC_SANDBOX_DRIVER: 'none' })
  script = await (await fetch(`${server.url}/install`)).text()
}, 120_000)
afterAll(() => server.end())

async function makeHome(): Promise<{ home: string; env: Record<string, string> }> {
  const home = join(server.dir, `home-${++homes}`)
  await mkdir(home)
  return { home, env: { PATH: server.env.PATH!, HOME: home, SVC_BIN_DIR: join(home, 'bin'), TMPDIR: home } }
}

const sh = (text: string, env: Record<string, string>) => run(['sh'], { env, input: text })
const there = async (path: string) => (await lstat(path).catch(() => null)) !== null

async function installed() {
  const { home, env } = await makeHome()
  const ran = await sh(script, env)
  expect([ran.code, ran.stderr]).toEqual([0, expect.stringContaining('Installed svc')])
  const link = join(home, 'bin/svc')
  return { home, env, ran, link, svc: (...args: string[]) => run([link, ...args], { env, cwd: home }) }
}

describe('the install script', () => {
  // Four parts, so that none takes long on a busy machine.
  test.each([0, 1, 2, 3])(
    'the install script cut short at any byte does nothing (part %i)',
    async (part) => {
      const { home, env } = await makeHome()
      const tools = join(home, 'tools')
      await mkdir(tools)
      // The first action of the script would show here.
      for (const name of ['curl', 'wget', 'mktemp', 'uname'])
        await writeFile(join(tools, name), `#!/bin/sh\necho ${name} >>'${home}/called'\nexit 1\n`, { mode: 0o755 })
      const bytes = Buffer.from(script)
      expect(bytes.length).toBeGreaterThan(4000)
      for (let length = part; length < bytes.length; length += 4)
        Bun.spawnSync(['sh'], {
          stdin: bytes.subarray(0, length),
          stdout: 'ignore',
          stderr: 'ignore',
          env: { ...env, PATH: `${tools}:${env.PATH}` },
        })
      expect(await readdir(home)).toEqual(['tools'])
      // The complete script does call one of these tools.
      await sh(script, { ...env, PATH: `${tools}:${env.PATH}` })
      expect(await readFile(join(home, 'called'), 'utf8')).toContain('uname')
    },
    300_000,
  )

  test('installs the program and a link, and stores the host', async () => {
    const { home, link, ran, svc } = await installed()
    expect(await readlink(link)).toBe(join(home, '.svc/bin/svc'))
    expect((await stat(link)).mode & 0o777).toBe(0o755)
    expect((await svc('version')).stdout.trim()).toMatch(/^\d+\.\d+\.\d+/)
    expect((await svc('hosts', 'current')).stdout.trim()).toBe('selfhost')
    expect(JSON.parse((await svc('hosts', 'info', '--json')).stdout)).toMatchObject({ url: server.url })
    expect(ran.stderr).toContain('is not on your PATH')
    expect(ran.stderr).toContain('Next: svc login')
    // Nothing else, and no temporary folder.
    expect((await readdir(home)).toSorted()).toEqual(['.config', '.svc', 'bin', 'share'])
    // Twice is as good as once.
    expect((await sh(script, { ...server.env, HOME: home, SVC_BIN_DIR: join(home, 'bin') })).code).toBe(0)
  }, 120_000)

  test('installs a manual page of every command, and removes those of an earlier version', async () => {
    const { home, env, svc } = await installed()
    const pages = join(home, 'share/man/man1')
    const { pages: names } = JSON.parse((await svc('man', '--out', join(home, 'all'), '--json')).stdout) as {
      pages: string[]
    }
    expect((await readdir(pages)).toSorted()).toEqual(names.map((name) => `${name}.1`).toSorted())
    expect(await readFile(join(pages, 'svc-cr-merge.1'), 'utf8')).toContain('Merge an open change request')
    if (Bun.which('man') !== null) {
      const found = await run(['man', '-w', 'svc-cr-merge'], { env: { ...env, PATH: `${home}/bin:${env.PATH}` } })
      expect(found.stdout.trim()).toBe(join(home, '.svc/share/man/man1/svc-cr-merge.1'))
    }
    const theirs = join(pages, 'svc-theirs.1')
    const earlier = join(pages, 'svc-earlier.1')
    await writeFile(theirs, 'of another program\n')
    await symlink(join(home, '.svc/share/man/man1/svc-earlier.1'), earlier)
    expect((await sh(script, env)).code).toBe(0)
    expect([await there(theirs), await there(earlier)]).toEqual([true, false])
    expect((await svc('uninstall', '--keep-home')).stdout).toContain(`the manual pages in ${pages}`)
    expect(await readdir(pages)).toEqual(['svc-theirs.1'])
    expect(await there(join(home, '.svc/share/man'))).toBe(false)
  }, 120_000)

  test.skipIf(Bun.which('bwrap') === null)(
    'chooses a writable folder, and never overwrites another program of the same name',
    async () => {
      const { home, env } = await makeHome()
      const { SVC_BIN_DIR: _, ...plain } = env
      const inside = (command: string) =>
        run(['bwrap', '--dev-bind', '/', '/', '--tmpfs', '/usr/local/bin', 'sh', '-c', command], {
          env: plain,
          input: script,
        })
      const free = await inside('sh && readlink /usr/local/bin/svc')
      expect([free.code, free.stdout.trim()]).toEqual([0, join(home, '.svc/bin/svc')])
      const taken = await inside('echo theirs >/usr/local/bin/svc; sh && cat /usr/local/bin/svc')
      expect([taken.code, taken.stdout.trim()]).toEqual([0, 'theirs'])
      expect(await readlink(join(home, '.local/bin/svc'))).toBe(join(home, '.svc/bin/svc'))
    },
    120_000,
  )

  test('refuses a program with one changed bit, or without a checksum', async () => {
    const good = new Uint8Array(await (await fetch(`${server.url}/install/${archive}`)).arrayBuffer())
    const sums = await (await fetch(`${server.url}/install/SHA256SUMS`)).text()
    expect(sums).toBe(`${createHash('sha256').update(good).digest('hex')}  ${archive}\n`)
    let bytes = good
    let listed = sums
    await using mirror = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      fetch: ({ url }) => new Response(url.endsWith('SHA256SUMS') ? listed : bytes),
    })
    const from = script.replaceAll(server.url, `http://127.0.0.1:${mirror.port}`)
    const attempt = async () => {
      const { home, env } = await makeHome()
      const ran = await sh(from, env)
      expect(await readdir(home)).toEqual([])
      return [ran.code, ran.stderr] as const
    }
    for (const at of [0, 10, Math.floor(good.length / 2), good.length - 1]) {
      bytes = good.slice()
      bytes[at]! ^= 1
      expect(await attempt()).toEqual([1, expect.stringContaining('its checksum is')])
    }
    bytes = good.slice(0, good.length - 1)
    expect(await attempt()).toEqual([1, expect.stringContaining('its checksum is')])
    bytes = good
    listed = sums.replace(/^./, (digit) => (digit === '0' ? '1' : '0'))
    expect(await attempt()).toEqual([1, expect.stringContaining('its checksum is')])
    listed = ''
    expect(await attempt()).toEqual([1, expect.stringContaining('has no program for')])
  }, 120_000)

  test('a server offers the listed files and no other', async () => {
    for (const file of ['svc-plan9-x64.tar.gz', '..%2f..%2fmaster.key', 'release.json']) {
      const reply = await fetch(`${server.url}/install/${file}`)
      expect([file, reply.status]).toEqual([file, 404])
    }
  })
})

describe('svc update', () => {
  test('svc update installs the version of its server and keeps the link', async () => {
    const { home, link, svc } = await installed()
    const noted = join(home, '.svc/install.json')
    const facts = JSON.parse(await readFile(noted, 'utf8')) as { version: string }
    await writeFile(noted, JSON.stringify({ ...facts, version: '0.0.1' }))
    const updated = await svc('update', '--json')
    expect([updated.code, updated.stderr]).toEqual([0, ''])
    expect(JSON.parse(updated.stdout)).toEqual({
      origin: server.url,
      before: '0.0.1',
      version: facts.version,
      changed: true,
    })
    expect(await readlink(link)).toBe(join(home, '.svc/bin/svc'))
    expect((await svc('update')).stdout).toContain('installed again')
  }, 120_000)

  test('svc update changes nothing when the server is down or sends something else', async () => {
    const { home, svc } = await installed()
    const noted = join(home, '.svc/install.json')
    const facts = JSON.parse(await readFile(noted, 'utf8')) as object
    await using other = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response('<html>') })
    for (const origin of ['http://127.0.0.1:1', `http://127.0.0.1:${other.port}`]) {
      await writeFile(noted, JSON.stringify({ ...facts, origin }))
      const { code, stderr } = await svc('update')
      expect([code, stderr]).toEqual([1, expect.stringContaining(`${origin}/install/install.sh`)])
      expect((await svc('version')).code).toBe(0)
    }
  }, 120_000)

  test('svc update refuses a program that the script did not install', async () => {
    const { env, home } = await makeHome()
    const { code, stderr } = await run([join(import.meta.dir, '../../dist/svc'), 'update'], { env, cwd: home })
    expect([code, stderr]).toEqual([1, expect.stringContaining('The install script did not install this svc')])
  })
})

describe('svc uninstall', () => {
  async function withToken() {
    const made = await installed()
    const signedIn = await run([made.link, 'login', '--token', '-'], { env: made.env, input: server.token })
    expect(signedIn.code).toBe(0)
    await writeFile(join(made.home, '.svc/note'), 'mine\n')
    const config = join(made.home, '.config/svc/config.json')
    const tokens = async () => Object.keys((JSON.parse(await readFile(config, 'utf8')) as { tokens: object }).tokens)
    return { ...made, tokens }
  }

  test('svc uninstall removes program, link, ~/.svc and token', async () => {
    const { home, link, svc, tokens } = await withToken()
    expect(await tokens()).toEqual([server.url])
    const { code, stdout } = await svc('uninstall')
    expect(code).toBe(0)
    for (const gone of [link, join(home, '.svc')]) {
      expect(stdout).toContain(gone)
      expect(await there(gone)).toBe(false)
    }
    expect(await tokens()).toEqual([])
  }, 120_000)

  test('svc uninstall keeps what its flags name', async () => {
    const { home, link, svc, tokens } = await withToken()
    expect((await svc('uninstall', '--keep-home', '--keep-auth')).code).toBe(0)
    expect(await there(link)).toBe(false)
    expect(await there(join(home, '.svc/bin/svc'))).toBe(false)
    expect(await readFile(join(home, '.svc/note'), 'utf8')).toBe('mine\n')
    expect(await tokens()).toEqual([server.url])
  }, 120_000)

  test('svc uninstall keeps a foreign link of the same name, and a program that was not installed', async () => {
    const { link, svc, home } = await withToken()
    await Bun.spawn(['ln', '-sf', '/bin/true', link]).exited
    expect((await run([join(home, '.svc/bin/svc'), 'uninstall'], { env: (await makeHome()).env })).code).toBe(0)
    expect(await there(join(home, '.svc/bin/svc'))).toBe(true)
    expect((await svc('version')).code).toBe(0)
    expect(
      (
        await run([join(home, '.svc/bin/svc'), 'uninstall'], {
          env: { ...server.env, HOME: home, SVC_CONFIG_FILE: join(home, 'c') },
        })
      ).code,
    ).toBe(0)
    expect(await readlink(link)).toBe('/bin/true')
  }, 120_000)
})
