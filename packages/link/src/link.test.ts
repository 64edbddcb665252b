import { afterEach, expect, setDefaultTimeout, test } from 'bun:test'
import { createHash, randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { createServer } from 'node:http'
import { rm } from 'node:fs/promises'
import { connect, createServer as createListener, type Socket } from 'node:net'
import { join } from 'node:path'

import { serverIdentity } from './handshake.ts'
import { windowBytes } from './mux.ts'
import { openLink } from './server-end.ts'
import { dialPort, listenAt, testLink, testServer, until } from './testing.ts'

setDefaultTimeout(120_000)

const open: { close(): unknown }[] = []
afterEach(async () => {
  for (const one of open.splice(0)) await one.close()
})

async function start(...of: Parameters<typeof testLink>) {
  const made = await testLink(...of)
  open.push(made)
  return made
}

/** An HTTP server as the program of one end: answers with the path and the digest of the body. */
function digesting(): (socket: Socket) => void {
  const server = createServer((req, res) => {
    const digest = createHash('sha256')
    req.on('data', (chunk: Buffer) => digest.update(chunk))
    req.on('end', () => res.end(`${req.url} ${digest.digest('hex')}`))
  })
  return (socket) => void server.emit('connection', socket)
}

async function digestBy(unix: string, index: number): Promise<boolean> {
  const body = randomBytes(1 + index * 1500)
  const reply = await fetch(`http://x/${index}`, { unix, method: 'POST', body, keepalive: false })
  return (await reply.text()) === `/${index} ${createHash('sha256').update(body).digest('hex')}`
}

const numbers = [...Array(200).keys()]

test('200 requests at once from the sandbox reach the server, and as many from the server the daemon', async () => {
  const made = await start({ daemon: digesting(), relay: digesting() })
  await made.boot()
  await until('the relay to listen', () => existsSync(made.relayInside))
  const answers = await Promise.all(
    numbers.flatMap((index) => [digestBy(made.relayInside, index), digestBy(made.socketPath, index)]),
  )
  expect(answers.length).toBe(400)
  expect(answers.filter((isRight) => !isRight)).toEqual([])
  expect(made.errors).toEqual([])
})

test('a sandbox gets its identity once', async () => {
  const made = await start({})
  expect(await made.link.status()).toEqual({ memoryKills: 0, isBooted: false })
  expect(await made.boot()).toBeTrue()
  expect(await made.boot()).toBeFalse()
  expect(await made.sandbox.booted).toEqual({ env: { NAME: 'value' }, args: [], relays: ['relay'] })
  expect(await made.link.status()).toEqual({ memoryKills: 0, isBooted: true })
})

test('each half of a connection closes on its own', async () => {
  const daemon = (socket: Socket) => {
    let heard = ''
    socket.on('data', (chunk) => (heard += String(chunk)))
    socket.on('end', () => socket.end(`heard ${heard}`))
  }
  const made = await start({ daemon })
  const client = connect({ path: made.socketPath, allowHalfOpen: true }, () => client.end('hello'))
  let answer = ''
  client.on('data', (chunk) => (answer += String(chunk)))
  await new Promise((resolve) => client.on('close', resolve))
  expect(answer).toBe('heard hello')
})

test('a reader that stops stops its writer and nobody else', async () => {
  let sent = 0
  const block = Buffer.alloc(64 * 1024, 7)
  let paths = 0
  const web = digesting()
  const daemon = (socket: Socket) => {
    if (paths++ > 0) return web(socket)
    const push = () => {
      while (sent < 64 * 1024 ** 2) {
        sent += block.length
        if (!socket.write(block)) return
      }
      socket.end()
    }
    socket.on('drain', push)
    socket.on('error', () => {})
    push()
  }
  const made = await start({ daemon })
  const client = connect(made.socketPath)
  client.pause()
  await new Promise((resolve) => client.once('connect', resolve))
  let before = -1
  // The writer has stopped once other requests pass and nothing more was taken from it.
  await until('the writer to stop', async () => {
    const seen = sent
    for (let index = 0; index < 20; index++) expect(await digestBy(made.socketPath, index)).toBeTrue()
    const hasStopped = seen > 0 && seen === before && seen === sent
    before = seen
    return hasStopped
  })
  // The window, and the buffers of two sockets and three streams.
  expect(sent).toBeLessThan(windowBytes + 4 * 1024 ** 2)
  let seen = 0
  client.on('data', (chunk) => (seen += chunk.length))
  client.resume()
  await new Promise((resolve) => client.once('close', resolve))
  expect(seen).toBe(64 * 1024 ** 2)
})

/** A way to the sandbox that carries nothing while it is held, as a network or a paused server does. */
async function heldWay(port: () => number) {
  const sockets: Socket[] = []
  let isHeld = false
  const proxy = createListener({ allowHalfOpen: true }, (near) => {
    const far = connect({ port: port(), host: '127.0.0.1' })
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      from.on('data', (chunk) => void to.write(chunk))
      from.on('error', () => to.destroy())
      from.on('close', () => to.destroy())
    }
    sockets.push(near, far)
    if (isHeld) for (const socket of [near, far]) socket.pause()
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  open.push(proxy)
  return {
    dial: () => dialPort((proxy.address() as { port: number }).port),
    hold(held: boolean) {
      isHeld = held
      for (const socket of sockets) socket[held ? 'pause' : 'resume']()
    },
  }
}

test('a link that is paused while requests pass loses none of their bytes and repeats none', async () => {
  let port = 0
  const way = await heldWay(() => port)
  const received: string[] = []
  const web = (name: string) => {
    const answer = digesting()
    return (socket: Socket) => {
      received.push(name)
      answer(socket)
    }
  }
  const made = await start({ daemon: web('daemon'), relay: web('relay') }, { dial: async () => way.dial() })
  port = made.sandbox.port
  await made.boot()
  await until('the relay to listen', () => existsSync(made.relayInside))
  const answers = Promise.all(
    numbers.flatMap((index) => [digestBy(made.relayInside, index), digestBy(made.socketPath, index)]),
  )
  for (let times = 0; times < 20; times++) {
    await until('something to pass', () => received.length >= times)
    way.hold(true)
    await Bun.sleep(10)
    way.hold(false)
  }
  expect((await answers).filter((isRight) => !isRight)).toEqual([])
  const times = (name: string) => received.filter((each) => each === name).length
  expect([times('daemon'), times('relay'), made.errors.slice(1)]).toEqual([200, 200, []])
})

test('a cut connection comes back: requests wait for it, and those under way end', async () => {
  const web = digesting()
  let isHeld = true
  const held: Socket[] = []
  const made = await start({ relay: (socket) => (isHeld ? void held.push(socket) : web(socket)) })
  await made.boot()
  await until('the relay to listen', () => existsSync(made.relayInside))
  const cut = fetch('http://x/held', { unix: made.relayInside }).then(
    () => 'answered',
    () => 'cut',
  )
  await until('the request to arrive', () => held.length === 1)
  isHeld = false
  made.link.cut()
  expect(await cut).toBe('cut')
  await until('the relay to listen again', async () => digestBy(made.relayInside, 1).catch(() => false))
  expect(made.errors.length).toBe(1)
})

test('a request of the server waits for the connection', async () => {
  let isReachable = false
  const target = { port: 0 }
  const made = await start(
    { daemon: digesting() },
    { dial: () => (isReachable ? dialPort(target.port) : Promise.reject(new Error('not yet'))) },
  )
  target.port = made.sandbox.port
  const answer = digestBy(made.socketPath, 3)
  await until('an attempt to fail', () => made.errors.includes('not yet'))
  isReachable = true
  expect(await answer).toBeTrue()
})

test('a request that arrives before the daemon listens waits for it', async () => {
  const made = await start({})
  const daemon = join(made.inside, 'daemon.sock')
  await rm(daemon)
  const answer = digestBy(made.socketPath, 3)
  // Its stream is open once a later one has an answer.
  expect(await made.link.status()).toMatchObject({ isBooted: false })
  open.push(await listenAt(daemon, digesting()))
  expect(await answer).toBeTrue()
})

test('a blank sandbox reaches nothing of a server that holds its link ahead', async () => {
  const made = await start({ daemon: digesting(), relay: digesting() })
  const ahead = openLink({
    ...{ identity: testServer, sandboxKey: made.sandbox.publicKey, dial: () => dialPort(made.sandbox.port) },
    lost() {},
  })
  open.push(ahead)
  expect(await ahead.boot({ env: {}, args: [], relays: ['relay'] }, 10_000)).toBeTrue()
  await until('the relay to listen', () => existsSync(made.relayInside))
  expect(await digestBy(made.relayInside, 1).catch(() => 'cut')).toBe('cut')
  await ahead.serve({ socketPath: `${made.socketPath}-2`, relaySocket: made.relaySocket, egressSocket: null })
  expect(await digestBy(made.relayInside, 2)).toBeTrue()
  expect(await digestBy(`${made.socketPath}-2`, 3)).toBeTrue()
})

test('an identity that a dead connection takes along goes over the next one', async () => {
  let dials = 0
  const target = { port: 0 }
  // The first connection carries the handshake, and loses everything that follows.
  const made = await start(
    {},
    {
      dial: async () => {
        if (target.port === 0) throw new Error('wait')
        const socket = await dialPort(target.port)
        if (dials++ > 0) return socket
        const write = socket.write.bind(socket)
        let sent = 0
        socket.write = ((chunk: Buffer, ...rest: []) => (sent++ === 0 ? write(chunk, ...rest) : true)) as typeof write
        return socket
      },
    },
  )
  target.port = made.sandbox.port
  expect(await made.boot()).toBeTrue()
  expect(dials).toBe(2)
})

test('a sandbox refuses another server, and stays with its own', async () => {
  const stranger = serverIdentity(Buffer.alloc(32, 8))
  const refused = await start({}, { identity: stranger })
  await until('a refusal', () => refused.errors.length > 0)
  const made = await start({ daemon: digesting() })
  expect(await digestBy(made.socketPath, 1)).toBeTrue()
  const intruder = await dialPort(made.sandbox.port)
  intruder.write(randomBytes(96))
  await new Promise((resolve) => intruder.resume().once('close', resolve))
  expect(await digestBy(made.socketPath, 2)).toBeTrue()
})

test('a server sends nothing to a program that is not its sandbox', async () => {
  const other = await start({})
  const made = await start({}, { dial: () => dialPort(other.sandbox.port) })
  await until('an attempt', () => made.errors.length > 0)
  expect(made.errors[0]).toBe('Another program than the sandbox answered at its address.')
})

test('a record that was changed on its way ends the connection, and the next one works', async () => {
  let spoils = true
  let port = 0
  const front = createListener((outer) => {
    const inner = connect(port, '127.0.0.1')
    inner.pipe(outer)
    let seen = 0
    outer.on('data', (chunk: Buffer) => {
      // The handshake has 96 bytes; the last byte of what follows belongs to a tag.
      if (spoils && seen >= 96) chunk[chunk.length - 1]! ^= 1
      seen += chunk.length
      inner.write(chunk)
    })
    for (const socket of [inner, outer])
      socket.on('error', () => {}).on('close', () => (inner.destroy(), outer.destroy()))
  })
  await new Promise<void>((resolve) => front.listen(0, '127.0.0.1', resolve))
  open.push(front)
  const at = front.address() as { port: number }
  const made = await start(
    { daemon: digesting() },
    { dial: () => (port === 0 ? Promise.reject(new Error('wait')) : dialPort(at.port)) },
  )
  port = made.sandbox.port
  expect(await digestBy(made.socketPath, 1).catch(() => 'cut')).toBe('cut')
  spoils = false
  expect(await digestBy(made.socketPath, 2)).toBeTrue()
})

test('nothing of a request or an identity is readable on the wire', async () => {
  const seen: Buffer[] = []
  const made = await start(
    { daemon: digesting() },
    {
      dial: async () => {
        const socket = await dialPort(ports.sandbox)
        socket.on('data', (chunk: Buffer) => seen.push(chunk))
        const write = socket.write.bind(socket)
        socket.write = ((chunk: Buffer, ...rest: []) => (
          seen.push(Buffer.from(chunk)),
          write(chunk, ...rest)
        )) as typeof write
        return socket
      },
    },
  )
  ports.sandbox = made.sandbox.port
  await made.boot()
  expect(await digestBy(made.socketPath, 5_000)).toBeTrue()
  const text = Buffer.concat(seen).toString('latin1')
  expect(text).toContain('svc link 1')
  for (const secret of ['NAME', 'value', 'HTTP/1.1', 'daemon', '/5000']) expect(text).not.toContain(secret)
})
const ports = { sandbox: 0 }

test('the public key of a server depends on its seed alone', () => {
  expect(serverIdentity(Buffer.alloc(32, 7)).publicKey).toBe(testServer.publicKey)
  expect(serverIdentity(Buffer.alloc(32, 9)).publicKey).not.toBe(testServer.publicKey)
})
