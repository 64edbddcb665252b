/**
 * Many streams over one channel. Each has a window of its own: a reader that stops stops its writer, and nobody else.
 * Both ends open streams.
 */
import { Duplex } from 'node:stream'

/** Carries whole frames in order. */
export interface Channel {
  /** False once the channel has more to write than it likes; `onDrain` follows. */
  send(frame: Buffer): boolean
  close(error?: Error): void
  onFrame: (frame: Buffer) => void
  onDrain: () => void
  /** Called once. */
  onClose: (error: Error | null) => void
}

const types = { open: 0, data: 1, end: 2, reset: 3, credit: 4, ping: 5, pong: 6 } as const
const headBytes = 5
/** The number of bytes that one stream may send before its reader takes some of them. */
export const windowBytes = 256 * 1024
/** Small enough that a short request does not wait long behind a long one. */
const sliceBytes = 32 * 1024
const kindBytesMax = 32

export interface MuxOptions {
  /** The end that dialed opens odd streams, the other one even ones. */
  isDialer: boolean
  /** Further streams of the other end are reset. */
  streamsMax: number
  onStream(kind: string, stream: Duplex): void
  /** Called once, when the channel closed and every stream with it. */
  onClose(error: Error | null): void
}

export type Mux = ReturnType<typeof createMux>

export class LinkError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'LinkError'
  }
}

export function createMux(channel: Channel, options: MuxOptions) {
  const streams = new Map<number, MuxStream>()
  /** Streams that have something to send and the credit for it, each once. */
  const ready = new Set<MuxStream>()
  let nextId = options.isDialer ? 1 : 2
  let foreign = 0
  let isBlocked = false
  let isClosed = false
  const pings = new Set<() => void>()

  const frameOf = (type: number, id: number, payload: Buffer | null = null) => {
    const head = Buffer.allocUnsafe(headBytes)
    head[0] = type
    head.writeUInt32BE(id, 1)
    return payload === null ? head : Buffer.concat([head, payload])
  }
  const write = (type: number, id: number, payload?: Buffer) => {
    if (!isClosed && !channel.send(frameOf(type, id, payload))) isBlocked = true
  }
  const isOwn = (id: number) => (id % 2 === 1) === options.isDialer

  /** In turns, a slice each, while the channel takes more. */
  function pump(): void {
    for (const stream of ready) {
      if (isBlocked || isClosed) return
      ready.delete(stream)
      const slice = stream.nextSlice()
      if (slice !== null) write(types.data, stream.id, slice)
      if (stream.hasSlice()) ready.add(stream)
    }
  }

  function makeStream(id: number): MuxStream {
    const stream = new MuxStream(id, {
      wants: (one) => {
        ready.add(one)
        pump()
      },
      grant: (bytes) => write(types.credit, id, uint32(bytes)),
      end: () => write(types.end, id),
      reset: () => write(types.reset, id),
      gone: () => {
        ready.delete(stream)
        if (streams.delete(id) && !isOwn(id)) foreign -= 1
      },
    })
    streams.set(id, stream)
    return stream
  }

  function onOpen(id: number, payload: Buffer): void {
    if (isOwn(id) || id === 0 || streams.has(id) || payload.length > kindBytesMax)
      throw new LinkError('The other end opened a stream that it may not open.')
    if (foreign >= options.streamsMax) return write(types.reset, id)
    foreign += 1
    options.onStream(payload.toString('latin1'), makeStream(id))
  }

  function onFrame(frame: Buffer): void {
    if (frame.length < headBytes) throw new LinkError('The other end sent a frame without a head.')
    const id = frame.readUInt32BE(1)
    const payload = frame.subarray(headBytes)
    // A frame of a stream that this end has reset was on its way.
    const stream = streams.get(id)
    switch (frame[0]) {
      case types.open:
        return onOpen(id, payload)
      case types.data:
        return stream?.takeData(payload)
      case types.end:
        return stream?.takeEnd()
      case types.reset:
        return stream?.takeReset()
      case types.credit:
        if (payload.length !== 4) throw new LinkError('The other end sent a credit of a wrong size.')
        return stream?.takeCredit(payload.readUInt32BE(0))
      case types.ping:
        return write(types.pong, 0)
      case types.pong:
        return [...pings].forEach((answered) => answered())
      default:
        throw new LinkError('The other end sent a frame of an unknown type.')
    }
  }

  channel.onFrame = (frame) => {
    try {
      onFrame(frame)
    } catch (error) {
      channel.close(error as Error)
    }
  }
  channel.onDrain = () => {
    isBlocked = false
    pump()
  }
  channel.onClose = (error) => {
    isClosed = true
    for (const stream of [...streams.values()]) stream.takeReset()
    options.onClose(error)
  }

  return {
    open(kind: string): Duplex {
      if (isClosed) throw new LinkError('The link is closed.')
      const id = nextId
      nextId += 2
      const stream = makeStream(id)
      write(types.open, id, Buffer.from(kind, 'latin1'))
      return stream
    },
    /** Resolves when the other end has answered; false when it did not in time. */
    async ping(ms: number): Promise<boolean> {
      const answered = Promise.withResolvers<boolean>()
      const timer = setTimeout(() => answered.resolve(false), ms)
      const onPong = () => answered.resolve(true)
      pings.add(onPong)
      write(types.ping, 0)
      const isAlive = await answered.promise
      clearTimeout(timer)
      pings.delete(onPong)
      return isAlive
    },
    close: (error?: Error) => channel.close(error),
    get isClosed(): boolean {
      return isClosed
    },
    get streams(): number {
      return streams.size
    },
  }
}

function uint32(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(4)
  bytes.writeUInt32BE(value)
  return bytes
}

interface Wire {
  wants(stream: MuxStream): void
  grant(bytes: number): void
  end(): void
  reset(): void
  gone(): void
}

class MuxStream extends Duplex {
  readonly id: number
  #wire: Wire
  /** The number of bytes that the other end still accepts. */
  #credit = windowBytes
  #pending: { rest: Buffer; done: (error?: Error | null) => void } | null = null
  #received: Buffer[] = []
  /** Received and not read yet, or read and not granted again. */
  #owed = 0
  #toGrant = 0
  #isHungry = false
  #hasEnd = false
  #isReset = false
  #isEnded = false

  constructor(id: number, wire: Wire) {
    super({ allowHalfOpen: true, readableHighWaterMark: 64 * 1024, writableHighWaterMark: 64 * 1024 })
    this.id = id
    this.#wire = wire
    // A reset always closes the stream, and its user listens for that.
    this.on('error', () => {})
  }

  hasSlice(): boolean {
    return this.#pending !== null && this.#credit > 0
  }

  nextSlice(): Buffer | null {
    const pending = this.#pending
    if (pending === null || this.#credit === 0) return null
    const slice = pending.rest.subarray(0, Math.min(sliceBytes, this.#credit))
    pending.rest = pending.rest.subarray(slice.length)
    this.#credit -= slice.length
    if (pending.rest.length === 0) {
      this.#pending = null
      // Later, so that a writer that answers at once does not run inside the turn of the others.
      queueMicrotask(() => pending.done())
    }
    return slice
  }

  takeData(bytes: Buffer): void {
    this.#owed += bytes.length
    if (this.#owed > windowBytes || this.#hasEnd) throw new LinkError('The other end sent more than it may.')
    this.#received.push(bytes)
    if (this.#isHungry) this.#feed()
  }

  takeEnd(): void {
    this.#hasEnd = true
    if (this.#isHungry) this.#feed()
  }

  takeReset(): void {
    this.#isReset = true
    this.destroy(new LinkError('The connection was reset.'))
  }

  takeCredit(bytes: number): void {
    this.#credit += bytes
    if (this.#credit > windowBytes) throw new LinkError('The other end granted more than a window.')
    if (this.#pending !== null) this.#wire.wants(this)
  }

  /** Hands on what has arrived until the reader has enough. */
  #feed(): void {
    this.#isHungry = true
    while (this.#isHungry && this.#received.length > 0) {
      const bytes = this.#received.shift()!
      this.#toGrant += bytes.length
      this.#isHungry = this.push(bytes)
    }
    // In halves of the window, so that a grant is not sent for every slice.
    if (this.#toGrant >= windowBytes / 2 && !this.#hasEnd) {
      this.#wire.grant(this.#toGrant)
      this.#owed -= this.#toGrant
      this.#toGrant = 0
    }
    if (this.#hasEnd && this.#received.length === 0 && this.#isHungry) {
      this.#isHungry = false
      this.push(null)
    }
  }

  override _read(): void {
    this.#feed()
  }

  override _write(chunk: Buffer, _: BufferEncoding, done: (error?: Error | null) => void): void {
    if (chunk.length === 0) return done()
    this.#pending = { rest: chunk, done }
    if (this.#credit > 0) this.#wire.wants(this)
  }

  override _final(done: (error?: Error | null) => void): void {
    this.#isEnded = true
    this.#wire.end()
    done()
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    // An orderly end of both halves needs no reset.
    if (!this.#isReset && !(this.#isEnded && this.#hasEnd)) this.#wire.reset()
    this.#wire.gone()
    this.#received = []
    const { done: waiting } = this.#pending ?? {}
    this.#pending = null
    waiting?.(error)
    done(error)
  }
}
