/** The client as its own process, with real streams and signals. */
import { describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { aDiff, ids, startService, token } from './testing.ts'

const entry = join(import.meta.dir, '../../svc/src/main.ts')
const lines = 200_000
const large = `${'x'.repeat(99)}\n`.repeat(lines)

function client(url: string) {
  return {
    command: [process.execPath, entry],
    env: {
      PATH: process.env.PATH!,
      HOME: '/nonexistent',
      SVC_API_URL: url,
      SVC_CLI_TOKEN: token,
      SVC_PROJECT_ID: ids.project,
    },
  }
}

async function shell(url: string, script: string) {
  const { command, env } = client(url)
  const child = Bun.spawn(['bash', '-c', `svc() { ${command.join(' ')} "$@"; }; ${script}`], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const [stdout, stderr] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
  return { code: await child.exited, stdout: stdout.trim(), stderr }
}

describe('as a process', () => {
  test('a long answer arrives whole, and a reader that has enough is no failure', async () => {
    await using service = startService({ diffChangeRequest: () => aDiff(large) })
    expect((await shell(service.url, 'svc cr diff 3 | wc -c')).stdout).toBe(String(large.length))
    const cut = await shell(service.url, 'svc cr diff 3 | head -1 | wc -c; echo ${PIPESTATUS[0]}')
    expect(cut.stdout.split('\n')).toEqual(['100', '0'])
    expect(cut.stderr).not.toContain('error')
  }, 120_000)

  test.skipIf(process.platform !== 'linux')('an answer that cannot be written is a failure', async () => {
    await using service = startService()
    const { code, stderr } = await shell(service.url, 'svc cr ls > /dev/full')
    expect(code).toBe(1)
    expect(stderr).toContain('the output could not be written')
  })

  test('Ctrl-C ends it with 1', async () => {
    await using service = startService({ listChangeRequests: () => new Promise(() => {}) })
    const { command, env } = client(service.url)
    const child = Bun.spawn([...command, 'cr', 'ls'], { env, stdio: ['ignore', 'pipe', 'pipe'] })
    while (service.received.length === 0) await Bun.sleep(5)
    child.kill('SIGINT')
    expect(await child.exited).toBe(1)
    expect(await new Response(child.stderr).text()).toContain('Interrupted')
  })

  test('usage is 2, failure is 1, help is 0', async () => {
    await using service = startService()
    const { stdout } = await shell(
      service.url,
      'svc help >/dev/null; echo $?; svc nonsense 2>/dev/null; echo $?; svc cr show 3 --host nobody 2>/dev/null; echo $?',
    )
    expect(stdout.split('\n')).toEqual(['0', '2', '1'])
  })
})

test('no schema is loaded by any command', async () => {
  const built = await Bun.build({ entrypoints: [join(import.meta.dir, 'main.ts')], target: 'bun', splitting: true })
  expect(built.success).toBe(true)
  for (const output of built.outputs) expect(await output.text()).not.toContain('ZodType')
})
