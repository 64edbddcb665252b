/** The shell of the agent's commands, as the runtime starts it. */
import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
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
  expect(await run('-c', text)).toEqual({ code: 3, signal: null, out: 'a  b|$x|0|', error: 'oops\n' })
  expect((await run('-c', 'env')).out).not.toContain('SVC_SHELL_COMMAND')
})

test('a command that kills its own shell ends with an exit code and the reason', async () => {
  const killed = await run('-c', 'echo before; kill -9 $$; echo after')
  expect(killed).toMatchObject({ code: 137, signal: null, out: 'before\n' })
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
