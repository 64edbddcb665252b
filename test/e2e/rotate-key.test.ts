/** The master key is changed under a server with a live session: nothing stops, nothing is lost, and the key before opens nothing. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { copyFile, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { makeFirstCommit, run, program, Server, until } from './harness.ts'

setDefaultTimeout(300_000)

let server: Server
let project: string

beforeAll(async () => {
  server = await Server.start()
  project = (await server.json<{ project_id: string }>(['projects', 'create', '--name', 'rotated'])).project_id
  await makeFirstCommit(server, project)
  await set('FIRST', 'first-value-of-a-secret')
})
afterAll(() => server?.end())

const of = () => ['--project', project]
const keyFile = () => server.env.SVC_MASTER_KEY_FILE!
const set = async (name: string, value: string) =>
  expect((await server.svc(['secrets', 'set', `${name}=-`, ...of()], { input: `${value}\n` })).code).toBe(0)
/** As the operator runs it: on the server's machine, with the server's settings. */
const rotate = (...args: string[]) =>
  run([program, 'self-host', 'rotate-key', ...args], { env: server.env, cwd: server.dir })

const place = () => join(server.dir, 'backups')
const scripted = (line: string) => ['Do this.', '', '```svc-script', line, '```'].join('\n')
const prompt = (session: string, line: string) =>
  server.svc(['sessions', 'chat', session, '--prompt', scripted(line), ...of()])

async function hasSaid(session: string, mark: string): Promise<boolean> {
  const response = await server.api(`/v1/projects/${project}/sessions/${session}/transcript`)
  const { messages } = (await response.json()) as { messages: { role: string; parts: object[] }[] }
  return messages.some(({ role, parts }) => role === 'assistant' && JSON.stringify(parts).includes(mark))
}
const said = (session: string, mark: string) => until(`the agent to say ${mark}`, () => hasSaid(session, mark))

test('sessions and their successors continue over a change of the master key', async () => {
  const args = ['--no-wait', '--model', 'svc-scripted-demo', '--prompt', scripted('echo "one is ${#FIRST}"'), ...of()]
  const { session_id: session } = await server.json<{ session_id: string }>(['sessions', 'new', ...args])
  await said(session, 'one is 23')
  const before = join(server.dir, 'before.key')
  await copyFile(keyFile(), before)
  expect((await run([program, 'self-host', 'backup', place()], { env: server.env, cwd: server.dir })).code).toBe(0)

  const rotated = await rotate()
  expect([rotated.code, rotated.stderr]).toEqual([0, expect.stringContaining('Back up the new key file now')])
  expect(rotated.stdout).toMatch(/✓ Replaced the master key: [0-9a-f]{16} → [0-9a-f]{16}/)
  expect(rotated.stdout).toContain('1 running, which go on')
  expect(rotated.stdout).toContain(`${keyFile()}.replaced-`)
  expect((await stat(keyFile())).mode & 0o777).toBe(0o600)
  const key = await readFile(keyFile(), 'utf8')
  expect(key).not.toBe(await readFile(before, 'utf8'))
  expect(rotated.stdout + rotated.stderr + server.output).not.toContain(key.trim().slice(0, 12))

  // The same sandbox, by the same keys: a prompt, a secret that is new, and one that was there.
  await set('SECOND', 'second-value')
  await until('the new secret to be in the sandbox', async () => {
    await prompt(session, 'echo "two is ${#SECOND}, one is still ${#FIRST}"')
    return hasSaid(session, 'two is 12, one is still 23')
  })

  const audit = await server.json<{ action: string; actor_kind: string }[]>(['audit', '--action', 'master_key'])
  expect(audit).toMatchObject([{ action: 'master_key.rotate', actor_kind: 'operator' }])

  // The power goes; the server starts with the new key alone, and says what became of the old one.
  await server.kill('SIGKILL')
  const newer = join(server.dir, 'newer.key')
  await copyFile(keyFile(), newer)
  await copyFile(before, keyFile())
  await expect(server.boot()).rejects.toThrow(
    /is an earlier one \([0-9a-f]{16}\): svc self-host rotate-key replaced it at .* It needs key [0-9a-f]{16}\. Restore the right key/,
  )
  await copyFile(newer, keyFile())
  await server.boot()
  await server.json(['sessions', 'restart', session, ...of()])
  await prompt(session, 'echo "again ${#FIRST} and ${#SECOND}"')
  await said(session, 'again 23 and 12')
})

test('a backup from before the change is restored with the key that was kept, which the refusal names', async () => {
  const { master_key_ids: needed } = JSON.parse(
    (await run([program, 'self-host', 'backups', place(), '--json'], { env: server.env, cwd: server.dir })).stdout,
  ).backups[0] as { master_key_ids: string[] }
  const env = { ...server.env, SVC_DATA_DIR: join(server.dir, 'restored') }
  const restore = (more: Record<string, string> = {}) =>
    run([program, 'self-host', 'restore', place()], { env: { ...env, ...more }, cwd: server.dir })
  const refused = await restore()
  const [, kept = ''] = /set SVC_MASTER_KEY_FILE=(\S+)\. Nothing was changed/.exec(refused.stderr) ?? []
  expect([refused.code, kept]).toEqual([1, expect.stringMatching(/\/master\.key\.replaced-[-0-9]{10}-[0-9a-f]{16}$/)])
  expect(kept).toEndWith(needed[0]!)
  expect((await stat(kept)).mode & 0o777).toBe(0o600)
  const restored = await restore({ SVC_MASTER_KEY_FILE: kept })
  expect([restored.code, restored.stdout]).toEqual([0, expect.stringContaining('✓ Restored')])

  // No change of the restored server puts another key into the file of that name.
  const command = (name: string, file = kept) =>
    run([program, 'self-host', name], { env: { ...env, SVC_MASTER_KEY_FILE: file }, cwd: server.dir })
  expect((await command('resume')).code).toBe(0)
  const before = await readFile(kept, 'utf8')
  const unchanged = await command('rotate-key')
  expect([unchanged.code, unchanged.stderr]).toEqual([1, expect.stringContaining('Copy it to a file of another name')])
  expect(await readFile(kept, 'utf8')).toBe(before)
  const copy = join(server.dir, 'restored.key')
  await copyFile(kept, copy)
  expect((await command('rotate-key', copy)).code).toBe(0)
  expect(await readFile(kept, 'utf8')).toBe(before)
})

test('a running server whose key file is gone writes it again for the change, and starts with the new one', async () => {
  // It started with a key that was changed since.
  await server.kill('SIGTERM')
  await server.boot()
  const before = await readFile(keyFile(), 'utf8')
  await rm(keyFile())
  const rotated = await rotate()
  expect([rotated.code, rotated.stderr]).toEqual([0, expect.stringContaining('The running server wrote its key again')])
  const key = await readFile(keyFile(), 'utf8')
  expect([key === before, (await stat(keyFile())).mode & 0o777]).toEqual([false, 0o600])
  const kept = /earlier key: +(\S+)/.exec(rotated.stdout)?.[1]
  expect(await readFile(kept!, 'utf8')).toBe(before)
  // Its memory has the earlier key until it starts again, and that key is not written back.
  await rm(keyFile())
  const again = await rotate()
  expect([again.code, again.stderr]).toEqual([1, expect.stringContaining('There is no master key at')])
  expect(again.stderr).not.toContain('has the key in memory')
  await writeFile(keyFile(), key, { mode: 0o600 })
})

test('while the server runs, each command says how it writes a key that is gone or wrong again', async () => {
  await server.kill('SIGTERM')
  await server.boot()
  const command = (...words: string[]) => run([program, 'self-host', ...words], { env: server.env, cwd: server.dir })
  const good = await readFile(keyFile(), 'utf8')
  const stays = 'Do not stop, restart or upgrade the server: it has the key in memory.'
  const again = (what: string) =>
    new RegExp(`let the server write ${what} again: (\\S+=\\S+ )*svc self-host rotate-key`)
  for (const wrong of [`${Buffer.alloc(32, 7).toString('base64')}\n`, 'no key\n']) {
    await writeFile(keyFile(), wrong)
    const doctor = await command('doctor')
    const line = doctor.stdout.split('\n').find((each) => each.includes(stays))
    expect(line).toMatch(again('the key'))
    for (const { stdout, stderr } of [await command('backup', place()), await rotate()]) {
      expect(stdout + stderr).toContain(stays)
      expect(stdout + stderr).toContain(`move ${keyFile()} away and let the server`)
      expect(stdout + stderr).toMatch(again('the key'))
    }
  }
  await rename(keyFile(), `${keyFile()}.wrong`)
  const backup = await command('backup', place())
  expect(backup.stderr).toMatch(again('it'))
  const rotated = await rotate()
  expect([rotated.code, rotated.stderr]).toEqual([0, expect.stringContaining('The running server wrote its key again')])
  expect(await readFile(/earlier key: +(\S+)/.exec(rotated.stdout)![1]!, 'utf8')).toBe(good)
  await server.kill('SIGTERM')
  await server.boot()
})

test('the master key of a stopped server can be changed, and a folder without data is refused', async () => {
  await server.kill('SIGTERM')
  const rotated = await rotate('--json')
  expect(rotated.code).toBe(0)
  const { master_key_id: id } = JSON.parse(rotated.stdout) as { master_key_id: string }
  await rename(keyFile(), `${keyFile()}.away`)
  const without = await rotate()
  expect([without.code, without.stderr]).toEqual([1, expect.stringContaining(`cannot be opened without key ${id}.`)])
  await rename(`${keyFile()}.away`, keyFile())
  expect(JSON.parse(rotated.stdout)).toMatchObject({ finished_earlier: false, projects: 1, moved: 0, servers: 0 })
  await server.boot()
  expect(await server.json<{ items: object[] }>(['secrets', 'ls', ...of()])).toBeTruthy()

  const env = { ...server.env, SVC_DATA_DIR: join(server.dir, 'nothing') }
  const refused = await run([program, 'self-host', 'rotate-key'], { env, cwd: server.dir })
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('There is no data in')])
})
