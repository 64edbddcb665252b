/** git's pkt-line framing: four hex digits of total length, then the payload. 0000 ends a message, 0001 separates. */

const pktPayloadMax = 65516
export const flushPkt: Uint8Array = Buffer.from('0000')
export const delimPkt: Uint8Array = Buffer.from('0001')

type Pkt = { kind: 'data'; bytes: Buffer } | { kind: 'flush' } | { kind: 'delim' } | { kind: 'end' }

/** The bytes violate the framing, so the sender is not git. */
export class PktError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'PktError'
  }
}

export function pkt(payload: string | Uint8Array): Buffer {
  const bytes = typeof payload === 'string' ? Buffer.from(payload) : payload
  if (bytes.length > pktPayloadMax) throw new PktError(`A packet of ${bytes.length} bytes is longer than git allows.`)
  return Buffer.concat([Buffer.from((bytes.length + 4).toString(16).padStart(4, '0')), bytes])
}

/** Splits a complete message into packets. */
export function parsePkts(bytes: Buffer): Pkt[] {
  return [...eachPkt(bytes)]
}

/** The same one by one, for messages of any length. */
export function* eachPkt(bytes: Buffer): Generator<Pkt> {
  let offset = 0
  while (offset < bytes.length) {
    const length = pktLength(bytes.subarray(offset, offset + 4))
    if (length >= 4 && offset + length > bytes.length) throw new PktError('The last packet is truncated.')
    yield length < 4 ? controlPkt(length) : { kind: 'data', bytes: bytes.subarray(offset + 4, offset + length) }
    offset += Math.max(length, 4)
  }
}

/** Reads packets from a stream, then passes on the bytes after them. */
export class PktReader {
  readonly #source: AsyncIterator<Uint8Array>
  #buffer: Buffer = Buffer.alloc(0)
  #done = false

  constructor(source: AsyncIterable<Uint8Array>) {
    this.#source = source[Symbol.asyncIterator]()
  }

  /** The next packet; null at a clean end of the stream. */
  async next(): Promise<Pkt | null> {
    if (!(await this.#fill(4))) {
      if (this.#buffer.length === 0) return null
      throw new PktError('The stream ends inside a packet length.')
    }
    const length = pktLength(this.#buffer.subarray(0, 4))
    if (length < 4) {
      this.#take(4)
      return controlPkt(length)
    }
    if (!(await this.#fill(length))) throw new PktError('The stream ends inside a packet.')
    return { kind: 'data', bytes: this.#take(length).subarray(4) }
  }

  /** Everything after the packets read so far. */
  async *rest(): AsyncGenerator<Uint8Array> {
    if (this.#buffer.length > 0) yield this.#take(this.#buffer.length)
    for (;;) {
      const { done, value } = await this.#source.next()
      if (done) return
      yield value
    }
  }

  async #fill(bytes: number): Promise<boolean> {
    while (this.#buffer.length < bytes && !this.#done) {
      const { done, value } = await this.#source.next()
      if (done) this.#done = true
      else this.#buffer = this.#buffer.length === 0 ? Buffer.from(value) : Buffer.concat([this.#buffer, value])
    }
    return this.#buffer.length >= bytes
  }

  #take(bytes: number): Buffer {
    const taken = this.#buffer.subarray(0, bytes)
    this.#buffer = this.#buffer.subarray(bytes)
    return taken
  }
}

function pktLength(digits: Buffer): number {
  const text = digits.toString('latin1')
  if (!/^[0-9a-fA-F]{4}$/.test(text)) throw new PktError('A packet does not begin with four hex digits.')
  const length = Number.parseInt(text, 16)
  if (length === 3) throw new PktError('A packet has the impossible length 3.')
  if (length > pktPayloadMax + 4) throw new PktError('A packet is longer than git allows.')
  return length
}

function controlPkt(length: number): Pkt {
  if (length === 0) return { kind: 'flush' }
  return length === 1 ? { kind: 'delim' } : { kind: 'end' }
}
