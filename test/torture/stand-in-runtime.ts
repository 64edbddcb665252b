/**
 * Replaces the agent runtime where hundreds of sandboxes start: it answers the calls of the daemon and the server with a tenth
 * of the memory and time.
 */
import { appendFileSync, existsSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

interface Message {
  info: { id: string; role: string; sessionID: string; time: { created: number; completed?: number }; finish?: string }
  parts: { id: string; type: string; text: string; messageID: string; sessionID: string }[]
}

/** For longer than a server takes to restart. */
const pushesMax = 90
const sessions = new Map<string, Message[]>()
const busy = new Set<string>()
const streams = new Set<ReadableStreamDefaultController<Uint8Array>>()
// No start reuses an id of an earlier one.
let serial = Date.now()
/** A prompt can make the next start stop itself until SIGCONT, so that a test sees a runtime that is not ready. */
const pauseAtStart = join(tmpdir(), 'pause-at-start')
const newId = (kind: string) => `${kind}_${String(++serial).padStart(6, '0')}`

function emit(type: string, properties: object): void {
  const event = new TextEncoder().encode(`data: ${JSON.stringify({ type, properties })}\n\n`)
  for (const stream of streams) stream.enqueue(event)
}

/** As the real runtime does, it keeps the ids that it is given, by which the server knows a prompt again. */
function say(sessionID: string, role: string, text: string, given: { message?: string; part?: string } = {}): Message {
  const id = given.message ?? newId('msg')
  const time = { created: Date.now(), ...(role === 'assistant' ? { completed: Date.now() } : {}) }
  const info = { id, role, sessionID, time, ...(role === 'assistant' ? { finish: 'stop' } : {}) }
  const message = { info, parts: [{ id: given.part ?? newId('prt'), type: 'text', text, messageID: id, sessionID }] }
  sessions.get(sessionID)?.push(message)
  emit('message.updated', { sessionID, info })
  emit('message.part.updated', { sessionID, part: message.parts[0], time: Date.now() })
  return message
}

async function turn(
  sessionID: string,
  body: { messageID?: string; parts?: { id?: string; text?: string }[] },
): Promise<Message> {
  busy.add(sessionID)
  emit('session.status', { sessionID, status: { type: 'busy' } })
  const { id: part, text = '' } = body.parts?.[0] ?? {}
  if (text === 'Pause at your next start.') writeFileSync(pauseAtStart, '')
  const [, file] = /^Write (\S+\.txt)$/.exec(text) ?? []
  if (file !== undefined) writeFileSync(file, `${file}\n`)
  const asked = say(sessionID, 'user', text, { message: body.messageID, part })
  const [, edited] = /^Commit and push (\S+\.txt)$/.exec(text) ?? []
  const said = edited === undefined ? text : await commitAndPush(edited)
  // Ids are in the order of the messages, also within a millisecond.
  const answer = say(sessionID, 'assistant', said, { message: `${asked.info.id}_answer` })
  busy.delete(sessionID)
  emit('session.status', { sessionID, status: { type: 'idle' } })
  emit('session.idle', { sessionID })
  return answer
}

/** One more line in this file, on the session's branch. As an agent would, it tries again when the push fails. */
async function commitAndPush(file: string): Promise<string> {
  appendFileSync(file, `${newId('line')}\n`)
  await git('add', file)
  await git('commit', '--quiet', '-m', `Edit ${file}`)
  for (let tries = 1; ; tries++) {
    const pushed = await git('push', '--quiet', 'origin', 'HEAD')
    if (pushed === '') return `Pushed ${await git('rev-parse', 'HEAD')}`
    if (tries === pushesMax) return `Failed to push: ${pushed}`
    await Bun.sleep(1_000)
  }
}

/** What it prints. A failure of a commit shows in the push. */
async function git(...args: string[]): Promise<string> {
  const child = Bun.spawn(['git', ...args], { stdout: 'pipe', stderr: 'pipe' })
  const [out, said, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ])
  return code === 0 ? out.trim() : `${code}: ${said.trim()}`
}

function events(): Response {
  let mine: ReadableStreamDefaultController<Uint8Array>
  const stream = new ReadableStream<Uint8Array>({
    start(controller) {
      mine = controller
      streams.add(controller)
    },
    cancel: () => void streams.delete(mine),
  })
  emit('server.connected', {})
  return new Response(stream, { headers: { 'content-type': 'text/event-stream' } })
}

const port = Number(process.argv[process.argv.indexOf('--port') + 1])
console.log('the stand-in listens')
if (existsSync(pauseAtStart)) {
  rmSync(pauseAtStart)
  process.kill(process.pid, 'SIGSTOP')
}
Bun.serve({
  port,
  hostname: '127.0.0.1',
  idleTimeout: 0,
  async fetch(request) {
    const path = new URL(request.url).pathname
    if (path === '/event') return events()
    if (path === '/global/health') return Response.json({ healthy: true })
    if (path === '/agent') return Response.json([{ name: 'build', mode: 'primary' }])
    if (path === '/session/status')
      return Response.json(Object.fromEntries([...busy].map((id) => [id, { type: 'busy' }])))
    if (path === '/session' && request.method === 'POST') {
      const id = newId('ses')
      sessions.set(id, [])
      return Response.json({ id })
    }
    const [, id = '', verb = ''] = /^\/session\/([^/]+)(?:\/(\w+))?$/.exec(path) ?? []
    // The real runtime keeps its conversations over a restart; this one continues any that it is given.
    if (request.method === 'POST' && id !== '' && !sessions.has(id)) sessions.set(id, [])
    const messages = sessions.get(id)
    if (messages === undefined) return Response.json({ name: 'NotFoundError' }, { status: 404 })
    if (request.method === 'DELETE') return Response.json(sessions.delete(id))
    if (verb === 'message' && request.method === 'GET') return Response.json(messages)
    if (verb === 'abort') return Response.json(true)
    const answer = turn(id, (await request.json()) as object)
    return verb === 'prompt_async' ? new Response(null, { status: 204 }) : Response.json(await answer)
  },
})
