/**
 * A fake agent runtime for the daemon's tests: the routes the daemon calls, an event stream, an echo, and an upgrade.
 */
import { appendFileSync, existsSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'

import { headersOf } from '../testing.ts'

const port = Number(process.argv[2])
const seen: { method: string; url: string; headers: Record<string, string> }[] = []
const prompts: unknown[] = []
/** Outlives the process. */
const taken = join(process.cwd(), 'taken.jsonl')
let status = 'idle'

/** A program in the process group of the runtime, as its plugins start them, that says on which port it listens. */
async function startHelper(): Promise<number> {
  const code = `console.log(Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response('helps') }).port)`
  const child = Bun.spawn([process.execPath, '--eval', code], { stdout: 'pipe' })
  const { value } = await child.stdout.getReader().read()
  return Number(new TextDecoder().decode(value))
}

const server = createServer(async (req, res) => {
  const url = req.url ?? ''
  if (url === '/seen') {
    res.end(JSON.stringify(seen))
    return
  }
  seen.push({ method: req.method ?? '', url, headers: headersOf(req) })
  const chunks: Buffer[] = []
  const json = (value: unknown, status = 200) => {
    res.writeHead(status, { 'content-type': 'application/json', 'x-svc-evil': 'out', 'set-cookie': ['a=1', 'b=2'] })
    res.end(JSON.stringify(value))
  }
  if (url === '/echo') {
    res.writeHead(200, { 'content-type': req.headers['content-type'] ?? 'text/plain' })
    req.pipe(res)
    return
  }
  if (url === '/event') {
    res.writeHead(200, { 'content-type': 'text/event-stream', 'x-svc-evil': 'out' })
    res.write('data: {"type":"server.connected"}\n\n')
    // Sends an event every 20 ms, so that a test can see events arrive one by one.
    const timer = setInterval(() => res.write(`data: {"type":"tick","at":${Date.now()}}\n\n`), 20)
    res.on('close', () => clearInterval(timer))
    return
  }
  for await (const chunk of req as AsyncIterable<Buffer>) chunks.push(chunk)
  if (url === '/global/health') json({ healthy: true })
  else if (url === '/agent')
    json([
      { name: 'build', mode: 'primary' },
      { name: 'explore', mode: 'subagent' },
    ])
  else if (url === '/session' && req.method === 'POST') json({ id: 'ses_stand_in' })
  else if (url === '/session/ses_stand_in/prompt_async') {
    const body = Buffer.concat(chunks).toString()
    prompts.push(JSON.parse(body))
    // Takes the prompt and dies before it answers, the first time.
    if (body.includes('die once')) {
      const isFirst = !existsSync(taken)
      appendFileSync(taken, `${body}\n`)
      if (isFirst) process.exit(4)
    }
    res.writeHead(204)
    res.end()
  } else if (url === '/session/ses_stand_in/abort') json(true)
  else if (url === '/prompts') json(prompts)
  else if (url === '/env') json(process.env)
  else if (url === '/session/status') json({ ses_stand_in: { type: status } })
  else if (url === '/busy' || url === '/idle') json({ pid: process.pid, status: (status = url.slice(1)) })
  else if (url === '/helper') json({ port: await startHelper() })
  else if (url === '/die') process.exit(4)
  else if (url === '/cut') req.socket.destroy()
  else json({ path: url, method: req.method })
})
server.on('upgrade', (req, socket, head) => {
  seen.push({ method: 'UPGRADE', url: req.url ?? '', headers: headersOf(req) })
  if (req.url === '/refuse') {
    socket.end('HTTP/1.1 403 Forbidden\r\nX-Svc-Evil: out\r\nContent-Length: 2\r\n\r\nno')
    return
  }
  socket.write(
    'HTTP/1.1 101 Switching Protocols\r\nUpgrade: test\r\nConnection: Upgrade\r\nX-Svc-Evil: out\r\nX-Fine: 1\r\n\r\n',
  )
  // Echoes bytes that came with the request head, like all later bytes.
  socket.write(head)
  socket.pipe(socket)
})
server.listen(port, '127.0.0.1')
