import { afterEach, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtempSync } from 'node:fs'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { startRelay } from './relay.ts'
import { freePort, until } from '../testing.ts'

setDefaultTimeout(120_000)

const open: Server[] = []
afterEach(() => {
  for (const server of open.splice(0)) server.close()
})

async function relayTo(onConnection: (socket: Socket) => void): Promise<number> {
  const socketPath = join(mkdtempSync(join(tmpdir(), 'svc-relay-')), 'r.sock')
  const host = createServer({ allowHalfOpen: true }, onConnection)
  await new Promise<void>((resolve) => host.listen(socketPath, resolve))
  const port = await freePort()
  open.push(host, await startRelay({ port, socketPath }))
  return port
}

test('closes each direction separately, so a reply still arrives after the request ended', async () => {
  const port = await relayTo((socket) => {
    let heard = ''
    socket.on('data', (chunk) => (heard += String(chunk)))
    socket.on('end', () => socket.end(`you said ${heard}`))
  })
  const client = connect({ port, host: '127.0.0.1', allowHalfOpen: true }, () => client.end('hello'))
  let answer = ''
  client.on('data', (chunk) => (answer += String(chunk)))
  await new Promise((resolve) => client.on('close', resolve))
  expect(answer).toBe('you said hello')
})

test('passes 256 MB through a slow reader without buffering them', async () => {
  const size = 256 * 1024 * 1024
  let sent = 0
  const port = await relayTo((socket) => {
    // As much as the pipe takes, and no more.
    const block = Buffer.alloc(64 * 1024, 7)
    const push = () => {
      while (sent < size) {
        sent += block.length
        if (!socket.write(block)) return
      }
      socket.end()
    }
    socket.on('drain', push)
    push()
  })
  const client = connect(port, '127.0.0.1')
  let seen = 0
  let most = 0
  client.on('data', (chunk) => {
    seen += chunk.length
    // Bytes in transit are in the kernel's buffers or in the relay's memory.
    most = Math.max(most, sent - seen)
    client.pause()
    setImmediate(() => client.resume())
  })
  await new Promise((resolve) => client.on('close', resolve))
  expect(seen).toBe(size)
  expect(most).toBeLessThan(32 * 1024 * 1024)
})

test('a reset on one side ends the other side', async () => {
  const hosts: Socket[] = []
  const port = await relayTo((socket) => {
    hosts.push(socket)
    socket.on('error', () => {})
    socket.resume()
  })
  const client = connect(port, '127.0.0.1', () => client.write('x'))
  const host = await until('the connection', () => hosts[0] ?? null)
  // A Unix socket knows no reset: to the server it is an end, and a write after it fails.
  const ended = new Promise((resolve) => host.on('end', resolve))
  client.resetAndDestroy()
  await ended
})

test('holds a connection and its data until the next server connects', async () => {
  const port = await freePort()
  const socketPath = join(mkdtempSync(join(tmpdir(), 'svc-relay-')), 'later.sock')
  open.push(await startRelay({ port, socketPath }))
  const client = connect(port, '127.0.0.1', () => client.end('sent before there was a server'))
  const answered = new Promise<string>((resolve) => client.on('data', (data) => resolve(String(data))))
  await new Promise((resolve) => client.once('connect', resolve))
  const server = createServer({ allowHalfOpen: true }, (socket) => socket.pipe(socket))
  open.push(server)
  server.listen(socketPath)
  expect(await answered).toBe('sent before there was a server')
})

test('ends a connection when no server connects', async () => {
  const port = await freePort()
  open.push(await startRelay({ port, socketPath: '/nowhere/relay.sock', waitMs: 10 }))
  const client = connect(port, '127.0.0.1')
  client.on('error', () => {})
  await new Promise((resolve) => client.on('close', resolve))
})
