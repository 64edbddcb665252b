/** A link survives or ends cleanly when its other end misbehaves. */
import { expect, test } from 'bun:test'
import type { Duplex } from 'node:stream'

import { type Channel, createMux, windowBytes } from './mux.ts'

const types = { open: 0, data: 1, end: 2, reset: 3, credit: 4, ping: 5, pong: 6 }

function frame(type: number, id: number, payload: Buffer = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(5)
  head[0] = type
  head.writeUInt32BE(id, 1)
  return Buffer.concat([head, payload])
}

function hostile() {
  const sent: Buffer[] = []
  const streams: Duplex[] = []
  const closed: (string | null)[] = []
  const channel: Channel = {
    send: (one) => sent.push(one) > 0,
    close: (error) => channel.onClose(error ?? null),
    onFrame() {},
    onDrain() {},
    onClose() {},
  }
  createMux(channel, {
    isDialer: true,
    streamsMax: 2,
    onStream: (_, stream) => streams.push(stream),
    onClose: (error) => closed.push(error?.message ?? null),
  })
  return { channel, sent, streams, closed, typesSent: () => sent.map((one) => one[0]) }
}

const kind = Buffer.from('relay')

test.each([
  ['a frame without a head', Buffer.alloc(3)],
  ['an unknown type', frame(9, 2)],
  ['a stream with a number of this end', frame(types.open, 3, kind)],
  ['the stream 0', frame(types.open, 0, kind)],
  ['a kind without end', frame(types.open, 2, Buffer.alloc(33, 97))],
  ['a credit of three bytes', frame(types.credit, 2, Buffer.alloc(3))],
])('%s closes the link', (_, bad) => {
  const { channel, closed } = hostile()
  channel.onFrame(bad)
  expect(closed.length).toBe(1)
  expect(closed[0]).not.toBeNull()
})

test('an end that sends more than its window is cut off, and no more than the window is held', () => {
  const { channel, streams, closed } = hostile()
  channel.onFrame(frame(types.open, 2, kind))
  const block = Buffer.alloc(32 * 1024)
  for (let sent = 0; sent < windowBytes; sent += block.length) channel.onFrame(frame(types.data, 2, block))
  expect(closed).toEqual([])
  channel.onFrame(frame(types.data, 2, Buffer.alloc(1)))
  expect(closed).toEqual(['The other end sent more than it may.'])
  expect(streams[0]!.destroyed).toBeTrue()
})

test('an end that grants more than a window is cut off', () => {
  const { channel, closed } = hostile()
  channel.onFrame(frame(types.open, 2, kind))
  channel.onFrame(frame(types.credit, 2, Buffer.from([0, 0, 0, 1])))
  expect(closed).toEqual(['The other end granted more than a window.'])
})

test('streams over the limit are reset, and a closed one makes room', () => {
  const { channel, streams, sent, typesSent } = hostile()
  for (const id of [2, 4, 6]) channel.onFrame(frame(types.open, id, kind))
  expect(streams.length).toBe(2)
  expect(sent.at(-1)).toEqual(frame(types.reset, 6))
  channel.onFrame(frame(types.reset, 2))
  channel.onFrame(frame(types.open, 8, kind))
  expect(streams.length).toBe(3)
  expect(typesSent()).toEqual([types.reset])
})

test('frames of a stream that was reset are ignored', () => {
  const { channel, streams, closed } = hostile()
  channel.onFrame(frame(types.open, 2, kind))
  streams[0]!.destroy()
  for (const type of [types.data, types.end, types.reset]) channel.onFrame(frame(type, 2))
  channel.onFrame(frame(types.ping, 0))
  expect(closed).toEqual([])
})
