import { afterEach, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { openLink } from '@svc/link'
import { dialPort, testServer } from '@svc/link/testing'
import { freePort } from './testing.ts'

setDefaultTimeout(120_000)

const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end()
})

/** PID 1 in its first phase. It prints its key, and then the identity that it got. */
async function startBlank(args: string[]) {
  const runDir = await mkdtemp(join(tmpdir(), 'svc-blank-'))
  const port = await freePort()
  const script = `
    const { untilBooted } = await import(${JSON.stringify(join(import.meta.dir, 'late-identity.ts'))})
    console.log(JSON.stringify(await untilBooted(${JSON.stringify(args)}, { port: ${port}, runDir: '${runDir}' })))`
  const blank = Bun.spawn([process.execPath, '--eval', script], {
    stdout: 'pipe',
    stderr: 'pipe',
    env: { ...process.env, KUBERNETES_SERVICE_HOST: '10.0.0.1' },
  })
  ends.push(
    () => rm(runDir, { recursive: true, force: true }),
    () => blank.kill('SIGKILL'),
  )
  const lines = readLines(blank.stdout)
  const line = async () => (await lines.next()).value ?? ''
  const [word, sandboxKey = ''] = (await line()).split(' ')
  expect(word).toBe('svc-link')
  const connect = async (identity = testServer) => {
    const link = openLink({ identity, sandboxKey, dial: () => dialPort(port), lost() {} })
    ends.push(() => link.close())
    await link.serve({ socketPath: join(runDir, 'server.sock'), relaySocket: null, egressSocket: null })
    return link
  }
  return { blank, line, connect }
}

async function* readLines(stream: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  let rest = ''
  const decoder = new TextDecoder()
  for await (const chunk of stream) {
    rest += decoder.decode(chunk, { stream: true })
    const lines = rest.split('\n')
    rest = lines.pop()!
    yield* lines
  }
}

const link = ['--link', testServer.publicKey]

test('a blank sandbox becomes what its server says, and takes nothing from its surroundings', async () => {
  const { line, connect } = await startBlank([...link, '--lease', '600'])
  const message = { env: { SVC_TOKEN: 'secret' }, args: ['--lease', '60'], relays: ['relay' as const] }
  expect(await (await connect()).boot(message, 10_000)).toBeTrue()
  expect(JSON.parse(await line())).toEqual({ env: { SVC_TOKEN: 'secret' }, args: ['--lease', '60'] })
})

test('a blank sandbox without a server ends when its lease is over', async () => {
  const { blank } = await startBlank([...link, '--lease', '1'])
  expect(await blank.exited).toBe(0)
  expect(await new Response(blank.stderr).text()).toContain('no server gave this sandbox an identity in time')
})

test('a blank sandbox ends when it is stopped', async () => {
  const { blank } = await startBlank(link)
  blank.kill('SIGTERM')
  expect(await blank.exited).toBe(0)
})
