import { describe, expect, test } from 'bun:test'
import { readdir, readFile, stat, symlink, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { changeConfig, readConfig } from './config-file.ts'
import { svc, temporaryFolder } from '../testing.ts'

describe('the configuration file', () => {
  test('creates the file and its folder for the owner only, whatever the umask is', async () => {
    await using folder = await temporaryFolder()
    const path = join(folder.path, 'svc', 'config.json')
    const before = process.umask(0)
    let widest = 0
    const watching = new AbortController()
    const watch = (async () => {
      while (!watching.signal.aborted) {
        for (const name of await readdir(join(folder.path, 'svc')).catch(() => []))
          widest |= (await stat(join(folder.path, 'svc', name)).catch(() => ({ mode: 0 }))).mode & 0o077
        await Bun.sleep(0)
      }
    })()
    for (let i = 0; i < 50; i++)
      await changeConfig(path, (config) => void (config.tokens[`https://${i}`] = { token: 'x' }))
    watching.abort()
    await watch
    process.umask(before)
    expect(widest).toBe(0)
    expect((await stat(path)).mode & 0o777).toBe(0o600)
    expect((await stat(join(folder.path, 'svc'))).mode & 0o777).toBe(0o700)
    expect(await readdir(join(folder.path, 'svc'))).toEqual(['config.json'])
  })

  test('loses no change when two clients write the configuration file at once', async () => {
    await using folder = await temporaryFolder()
    const path = join(folder.path, 'config.json')
    const script = `import { changeConfig } from ${JSON.stringify(join(import.meta.dir, 'config-file.ts'))}
      for (let i = 0; i < 20; i++) await changeConfig(${JSON.stringify(path)}, (config) => void (config.tokens['https://' + process.argv[1] + '-' + i] = { token: 'x' }))`
    const writers = [0, 1, 2, 3].map((id) =>
      Bun.spawn([process.execPath, '-e', script, String(id)], { stdio: ['ignore', 'ignore', 'inherit'] }),
    )
    expect(await Promise.all(writers.map((writer) => writer.exited))).toEqual([0, 0, 0, 0])
    expect(Object.keys((await readConfig(path)).tokens)).toHaveLength(80)
  }, 120_000)

  test('readers always see a complete configuration file', async () => {
    await using folder = await temporaryFolder()
    const path = join(folder.path, 'config.json')
    await changeConfig(path, () => {})
    const writing = new AbortController()
    const read = (async () => {
      while (!writing.signal.aborted) JSON.parse(await readFile(path, 'utf8'))
    })()
    for (let i = 0; i < 50; i++)
      await changeConfig(path, (config) => void (config.tokens[`https://${i}`] = { token: 'x'.repeat(1000) }))
    writing.abort()
    await read
  })

  test('keeps what a newer client wrote, and writes through a symbolic link', async () => {
    await using folder = await temporaryFolder()
    const target = join(folder.path, 'kept-elsewhere.json')
    const path = join(folder.path, 'config.json')
    await writeFile(
      target,
      JSON.stringify({ newer: true, hosts: { a: { url: 'https://a.example.com', note: 'mine' } } }),
    )
    await symlink(target, path)
    await changeConfig(path, (config) => void (config.active_host = 'a'))
    expect(JSON.parse(await readFile(target, 'utf8'))).toEqual({
      newer: true,
      active_host: 'a',
      hosts: { a: { url: 'https://a.example.com', note: 'mine' } },
      tokens: {},
    })
  })

  test('takes over the lock of a process that ended', async () => {
    await using folder = await temporaryFolder()
    const path = join(folder.path, 'config.json')
    await writeFile(`${path}.lock`, '')
    const long = new Date(Date.now() - 60_000)
    await utimes(`${path}.lock`, long, long)
    await changeConfig(path, (config) => void (config.active_host = 'x'))
    expect((await readConfig(path)).active_host).toBe('x')
  })

  test.each(['{', '[]', '"text"', '{"hosts":[]}', '{"tokens":{"https://a":"x"}}', '{"hosts":{"a":{}}}'])(
    'refuses a configuration file with %s and leaves it unchanged',
    async (text) => {
      await using folder = await temporaryFolder()
      const path = join(folder.path, 'config.json')
      await writeFile(path, text)
      for (const args of [['hosts', 'ls'], ['hosts', 'use', 'local-dev'], ['logout']]) {
        const { code, stderr } = await svc(args, { env: { SVC_CONFIG_FILE: path } })
        expect(code).toBe(1)
        expect(stderr).toContain(path)
      }
      expect(await readFile(path, 'utf8')).toBe(text)
    },
  )

  test('treats an empty or missing configuration file as a fresh start', async () => {
    await using folder = await temporaryFolder()
    const path = join(folder.path, 'config.json')
    expect(await readConfig(path)).toEqual({ active_host: null, hosts: {}, tokens: {} })
    await writeFile(path, '')
    expect(await readConfig(path)).toEqual({ active_host: null, hosts: {}, tokens: {} })
  })
})

test('reports a configuration path that cannot be written in one line', async () => {
  const { code, stderr } = await svc(['hosts', 'use', 'local-dev'], {
    env: { SVC_CONFIG_FILE: '/proc/none/config.json' },
  })
  expect(code).toBe(1)
  expect(stderr).toContain('error: The configuration file is unusable')
})
