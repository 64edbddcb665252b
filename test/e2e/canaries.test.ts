/** Sixteen kinds of secrets in a real session that prints its environment: what is kept, told and logged holds none of them. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { canaries, encodingsOfACanary } from '../../packages/server/src/redaction/testing-canaries.ts'
import { makeFirstCommit, Server, until } from './harness.ts'

const minute = 60_000
let server: Server
let project: string

beforeAll(async () => {
  server = await Server.start()
  project = (await server.json<{ project_id: string }>(['projects', 'create', '--name', 'canaries'])).project_id
  await makeFirstCommit(server, project)
  for (const [name, value] of Object.entries(canaries)) {
    const set = await server.svc(['secrets', 'set', `${name}=-`, '--project', project], { input: value })
    expect(set.code).toBe(0)
  }
}, 3 * minute)
afterAll(async () => {
  await server?.end()
}, minute)

/** Of every process there is: secrets go to programs in their environment, never in their arguments. */
function allArguments(): string {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .map((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
      } catch {
        return ''
      }
    })
    .join('\n')
}

function leaksIn(text: string): string[] {
  return Object.entries(canaries).flatMap(([name, value]) =>
    encodingsOfACanary(value)
      .filter(([, encoded]) => text.includes(encoded.slice(2, -2)))
      .map(([as]) => `${name} as ${as}`),
  )
}

const everyShape = () =>
  Object.entries(canaries).flatMap(([name, value]) =>
    encodingsOfACanary(value).map(([as, encoded]) => ({ what: `${name} as ${as}`, bytes: Buffer.from(encoded) })),
  )

/** Tables, indexes, the write-ahead log, mirrors, folders of sandboxes: whatever the server wrote. */
function filesWith(folder: string, shapes = everyShape()): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .flatMap((entry) => {
      const path = join(entry.parentPath, entry.name)
      let content: Buffer
      try {
        content = readFileSync(path)
      } catch {
        // Gone meanwhile.
        return []
      }
      return shapes.filter(({ bytes }) => content.includes(bytes)).map(({ what }) => `${what} in ${path}`)
    })
}

test(
  'an agent prints them as they are, in base64 and in hex: none is in transcript, answer, log, arguments or any file of the server',
  async () => {
    const prompt = [
      '```svc-script',
      'env',
      'env | base64',
      'env | od -An -v -tx1 | tr -d " "',
      'printenv PEM',
      'echo "$SVC_CLI_TOKEN"',
      '```',
    ].join('\n')
    let seen = ''
    const watching = setInterval(() => (seen += allArguments()), 100)
    const session = await server.json<{ session_id: string }>([
      ...['sessions', 'new', '--no-wait', '--model', 'svc-scripted-demo', '--prompt', 'Wait.', '--project', project],
    ])
    const chat = await server.svc(['sessions', 'chat', session.session_id, '--project', project, '--prompt', prompt])
    clearInterval(watching)
    expect(`${chat.code} ${chat.stderr.slice(-500)}`).toStartWith('0')
    const transcript = await until('the transcript tells of it', async () => {
      const reply = await server.api(`/v1/projects/${project}/sessions/${session.session_id}/transcript`)
      const text = await reply.text()
      return text.includes('[redacted PLAIN]') ? text : null
    })
    expect(leaksIn(transcript)).toEqual([])
    expect(leaksIn(chat.stdout)).toEqual([])
    expect(leaksIn(server.output)).toEqual([])
    expect(leaksIn(seen)).toEqual([])
    expect(seen).toContain('opencode')
    expect(filesWith(join(server.dir, 'data'))).toEqual([])
    // The same search finds what was no secret.
    expect(filesWith(join(server.dir, 'data'), [{ what: 'it', bytes: Buffer.from('printenv PEM') }])).not.toEqual([])
    // With all that PostgreSQL had in memory.
    await server.kill('SIGTERM')
    expect(filesWith(join(server.dir, 'data'))).toEqual([])
    expect(transcript).not.toMatch(/svc_(pat|sbx|llm)_[0-9A-Za-z]{20}/)
  },
  5 * minute,
)
