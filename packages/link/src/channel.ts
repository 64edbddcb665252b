/** Frames over a byte stream: three bytes of length, then the sealed frame. */
import { createCipheriv, createDecipheriv } from 'node:crypto'
import type { Duplex } from 'node:stream'

import { type Channel, LinkError } from './mux.ts'

export interface SessionKeys {
  send: Buffer
  receive: Buffer
}

const lengthBytes = 3
const tagBytes = 16
const frameBytesMax = 64 * 1024
/** Data waits for the other end to read. An end that makes this one answer and does not read is cut off here. */
const unsentBytesMax = 4 * 1024 * 1024
const cipher = 'aes-256-gcm'

export function sealedChannel(wire: Duplex, keys: SessionKeys, first: Buffer): Channel {
  let held = first
  let sent = 0
  let received = 0
  let reason: Error | null = null

  const channel: Channel = {
    send(frame) {
      const sealing = createCipheriv(cipher, keys.send, nonceOf(sent++))
      const body = sealing.update(frame)
      sealing.final()
      const record = Buffer.allocUnsafe(lengthBytes + body.length + tagBytes)
      record.writeUIntBE(body.length + tagBytes, 0, lengthBytes)
      body.copy(record, lengthBytes)
      sealing.getAuthTag().copy(record, lengthBytes + body.length)
      const hasRoom = wire.write(record)
      if (wire.writableLength > unsentBytesMax) channel.close(new LinkError('The other end does not read.'))
      return hasRoom
    },
    close(error) {
      reason ??= error ?? null
      wire.destroy()
    },
    onFrame() {},
    onDrain() {},
    onClose() {},
  }

  function opened(record: Buffer): Buffer {
    const opening = createDecipheriv(cipher, keys.receive, nonceOf(received++))
    opening.setAuthTag(record.subarray(record.length - tagBytes))
    const frame = opening.update(record.subarray(0, record.length - tagBytes))
    // Throws for a record that the other end did not seal, or not at this place.
    opening.final()
    return frame
  }

  function read(): void {
    while (held.length >= lengthBytes && !wire.destroyed) {
      const length = held.readUIntBE(0, lengthBytes)
      if (length < tagBytes || length > frameBytesMax)
        return channel.close(new LinkError('The other end sent a record of a wrong size.'))
      if (held.length < lengthBytes + length) return
      const record = held.subarray(lengthBytes, lengthBytes + length)
      held = held.subarray(lengthBytes + length)
      let frame: Buffer
      try {
        frame = opened(record)
      } catch {
        return channel.close(new LinkError('A record was changed on its way.'))
      }
      channel.onFrame(frame)
    }
  }

  wire.on('data', (chunk: Buffer) => {
    held = held.length === 0 ? chunk : Buffer.concat([held, chunk])
    read()
  })
  wire.resume()
  wire.on('drain', () => channel.onDrain())
  wire.on('error', (error: Error) => (reason ??= error))
  wire.once('end', () => wire.destroy())
  wire.once('close', () => channel.onClose(reason))
  // The caller sets the listeners first.
  queueMicrotask(read)
  return channel
}

/** Each key seals in one direction of one connection, so a counter never repeats. */
function nonceOf(count: number): Buffer {
  const nonce = Buffer.alloc(12)
  nonce.writeUIntBE(count, 6, 6)
  return nonce
}
