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

describe('the client as a process', () => {
  test('prints a long output completely, and succeeds when the reader closes the pipe early', async () => {
    await using service = startService({ diffChangeRequest: () => aDiff(large) })
    expect((await shell(service.url, 'svc cr diff 3 | wc -c')).stdout).toBe(String(large.length))
    const cut = await shell(service.url, 'svc cr diff 3 | head -1 | wc -c; echo ${PIPESTATUS[0]}')
    expect(cut.stdout.split('\n')).toEqual(['100', '0'])
    expect(cut.stderr).not.toContain('error')
  }, 120_000)

  test.skipIf(process.platform !== 'linux')('fails when the output cannot be written', async () => {
    await using service = startService()
    const { code, stderr } = await shell(service.url, 'svc cr ls > /dev/full')
    expect(code).toBe(1)
    expect(stderr).toContain('the output could not be written')
  })

  test.skipIf(Bun.which('script') === null)(
    'asks in a terminal that has no width as in one of 80 columns',
    async () => {
      await using service = startService()
      // Where its own input is no terminal, `script` opens a terminal of 0 columns.
      const asked = `printf n | script -qec "${client('').command.join(' ')} models rm" /dev/null`
      expect((await shell(service.url, asked)).stdout).toContain('Agents of every project stop working')
    },
  )

  test('exits with 1 on Ctrl-C', async () => {
    await using service = startService({ listChangeRequests: () => new Promise(() => {}) })
    const { command, env } = client(service.url)
    const child = Bun.spawn([...command, 'cr', 'ls'], { env, stdio: ['ignore', 'pipe', 'pipe'] })
    while (service.received.length === 0) await Bun.sleep(5)
    child.kill('SIGINT')
    expect(await child.exited).toBe(1)
    expect(await new Response(child.stderr).text()).toContain('Interrupted')
  })

  test('exits with 2 for wrong usage, 1 for a failure and 0 for help', async () => {
    await using service = startService()
    const { stdout } = await shell(
      service.url,
      'svc help >/dev/null; echo $?; svc nonsense 2>/dev/null; echo $?; svc cr show 3 --host nobody 2>/dev/null; echo $?',
    )
    expect(stdout.split('\n')).toEqual(['0', '2', '1'])
  })
})

test('no command loads a schema library', async () => {
  const built = await Bun.build({ entrypoints: [join(import.meta.dir, 'main.ts')], target: 'bun', splitting: true })
  expect(built.success).toBe(true)
  for (const output of built.outputs) expect(await output.text()).not.toContain('ZodType')
})
