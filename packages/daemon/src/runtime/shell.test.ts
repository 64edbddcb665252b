/** The shell of the agent's commands, as the runtime starts it. */
import { afterAll, expect, test } from 'bun:test'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { writeCommandShell } from './shell.ts'

const folder = mkdtempSync(join(tmpdir(), 'svc-shell-'))
const shell = writeCommandShell(folder)
afterAll(() => rmSync(folder, { recursive: true }))

const start = (...args: string[]) => Bun.spawn([shell, ...args], { stdout: 'pipe', stderr: 'pipe', detached: true })

async function run(...args: string[]) {
  const child = start(...args)
  const [out, error] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
  return { code: await child.exited, signal: child.signalCode, out, error }
}

test('a command has its own text, output and exit code', async () => {
  const text = `printf '%s|' "a  b" '$x' "$#"; echo oops >&2; (exit 3)`
  expect(await run('-c', text)).toEqual({ code: 3, signal: null, out: 'a  b|$x|0|oops\n', error: '' })
  expect((await run('-c', 'env')).out).not.toContain('SVC_SHELL_COMMAND')
})

test('a command that kills its own shell ends with an exit code and the reason', async () => {
  const killed = await run('-c', 'echo before; kill -9 $$; echo after')
  expect(killed).toMatchObject({ code: 137, signal: null })
  expect(killed.out).toStartWith('before\n')
  expect(killed.out).not.toContain('after')
  expect(killed.error).toContain('Signal 9 ended this command; exit code 137.')
  // It signals its whole group, which the upper shell belongs to.
  expect(await run('-c', 'kill 0; sleep 600')).toMatchObject({ code: 143, signal: null })
})

test('a search for the command finds its shell alone, not the one above', async () => {
  const child = start('-c', 'cat /proc/$$/cmdline /proc/$PPID/cmdline; : marked')
  const lines = (await new Response(child.stdout).text()).split('\0').filter((word) => word.includes('marked'))
  expect(lines).toHaveLength(1)
})

test('ends with its process group, and passes other arguments to the plain shell', async () => {
  const child = start('-c', 'echo runs; sleep 600')
  await child.stdout.getReader().read()
  process.kill(-child.pid, 'SIGTERM')
  expect(await child.exited).toBe(143)
  expect(await run('-c', 'echo "$0 $1"', 'name', 'one')).toMatchObject({ code: 0, out: 'name one\n' })
})

test('the output of a command arrives byte for byte and in its order', async () => {
  const lines = await run('-c', 'for i in 1 2 3 4 5 6 7 8 9; do echo "out $i"; echo "error $i" >&2; done')
  expect(lines.out).toBe([1, 2, 3, 4, 5, 6, 7, 8, 9].map((i) => `out ${i}\nerror ${i}\n`).join(''))
  const bytes = crypto.getRandomValues(new Uint8Array(60_000))
  writeFileSync(join(folder, 'bytes'), bytes)
  const child = start('-c', `for i in 1 2 3 4 5 6 7 8 9; do cat ${folder}/bytes; done`)
  const copy = Buffer.from(await new Response(child.stdout).arrayBuffer())
  expect(copy.equals(Buffer.concat(Array.from({ length: 9 }, () => bytes)))).toBe(true)
})

test('a command without a place for its pipe runs all the same', async () => {
  const child = Bun.spawn([shell, '-c', 'echo fine; exit 4'], { env: { TMPDIR: join(folder, 'missing') } })
  expect([await new Response(child.stdout).text(), await child.exited]).toEqual(['fine\n', 4])
})

/** Prints once its command has ended, and then leaves a file. */
const survivor = (name: string) =>
  `until [ -e ${folder}/${name} ]; do sleep 0.05; done; echo more; echo more >&2; echo > ${folder}/${name}-lives`

const until = async (what: string, isTrue: () => boolean) => {
  const deadline = performance.now() + 20_000
  for (; !isTrue(); await Bun.sleep(20)) if (performance.now() > deadline) throw new Error(`waited for ${what}`)
}
const hasEnded = (group: number) => {
  try {
    process.kill(-group, 0)
    return false
  } catch {
    return true
  }
}

test.each([
  ['of its own group', '', 0],
  ['of another group', 'setsid', 0],
  ['of another group', 'setsid', 3],
])('a command ends without a background process %s that holds its output (%s, %i)', async (_, starter, code) => {
  const name = `${starter}${code}`
  const child = start('-c', `${starter} sh -c '${survivor(name)}' & echo started; exit ${code}`)
  const [out, error] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
  expect([await child.exited, out]).toEqual([code, 'started\n'])
  expect(error).toMatch(/process \d+, which it started in the background, still runs/)
  // The runtime ends the group of a command that failed.
  if (code !== 0) process.kill(-child.pid, 'SIGTERM')
  writeFileSync(join(folder, name), '')
  await until('the process to print and go on', () => existsSync(join(folder, `${name}-lives`)))
  await until('nothing to be left', () => hasEnded(child.pid))
})

test('a command that a signal ends has its last output, and leaves its background process alone', async () => {
  const background = `setsid sh -c 'echo started; ${survivor('limit')}' &`
  const child = start('-c', `trap 'echo last; exit 9' TERM; ${background} read x < <(sleep 600)`)
  const reader = child.stdout.getReader()
  await reader.read()
  process.kill(-child.pid, 'SIGTERM')
  expect(new TextDecoder().decode((await reader.read()).value)).toBe('last\n')
  expect((await reader.read()).done).toBe(true)
  expect(await child.exited).toBe(9)
  writeFileSync(join(folder, 'limit'), '')
  await until('the process to print and go on', () => existsSync(join(folder, 'limit-lives')))
})
