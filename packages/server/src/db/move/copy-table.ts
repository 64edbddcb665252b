/** Streams the rows of a table from one PostgreSQL to another by COPY, in constant memory. */
import type { Socket } from 'node:net'
import pg from 'pg'
import { columnList, quoted, type Table } from './tables.ts'

/** Rows travel in pieces of this size, since a message for each would cost more than its content. */
const pieceBytes = 128 * 1024
/** Above this the reading waits for the writing. */
export const waitingBytesMax = 1024 * 1024

/** Text, not binary: every version of PostgreSQL reads it alike. `onRow` is called for each row. */
export async function copyTable(
  { from, to }: { from: pg.Client; to: pg.Client },
  table: Table,
  onRow: () => void,
): Promise<void> {
  const what = `copy ${quoted(table.name)} (${columnList(table)})`
  const writer = new Writer(`${what} from stdin`)
  const written = submit(to, writer)
  const begun = await Promise.race([writer.begun, written])
  if (begun === undefined) throw new Error(`PostgreSQL did not take the rows of ${table.name}.`)
  const pieces = new Pieces((piece) => sendPiece({ from, to: begun }, piece))
  const reader = new Reader(`${what} to stdout`, (row) => {
    pieces.add(row)
    onRow()
  })
  const read = async () => {
    await submit(from, reader)
    pieces.flush()
    begun.endCopyFrom()
  }
  // When one side fails, the caller closes both connections, which ends the other.
  await Promise.all([read(), written])
}

export function submit(client: pg.Client, query: pg.Query): Promise<void> {
  return new Promise((resolve, reject) => {
    query.on('end', () => resolve())
    query.on('error', reject)
    client.query(query)
  })
}

/** The driver's types leave these out. */
interface CopyConnection {
  stream: Socket
  sendCopyFromChunk(chunk: Buffer): void
  endCopyFrom(): void
}

export const connectionOf = (client: pg.Client) => (client as unknown as { connection: CopyConnection }).connection

function sendPiece({ from, to }: { from: pg.Client; to: CopyConnection }, piece: Buffer): void {
  to.sendCopyFromChunk(piece)
  const source = connectionOf(from).stream
  if (to.stream.writableLength < waitingBytesMax || source.isPaused()) return
  source.pause()
  to.stream.once('drain', () => source.resume())
}

export class Reader extends pg.Query {
  readonly #onRow: (row: Buffer) => void

  constructor(text: string, onRow: (row: Buffer) => void) {
    super(text)
    this.#onRow = onRow
  }

  /** PostgreSQL sends one message for each row. The driver reuses the memory afterwards. */
  handleCopyData({ chunk }: { chunk: Buffer }): void {
    this.#onRow(chunk)
  }
}

export class Writer extends pg.Query {
  readonly #begun = Promise.withResolvers<CopyConnection>()
  /** Resolves when PostgreSQL is ready for the rows. */
  readonly begun = this.#begun.promise

  handleCopyInResponse(connection: CopyConnection): void {
    this.#begun.resolve(connection)
  }
}

/** Gathers rows. */
export class Pieces {
  readonly #buffer = Buffer.allocUnsafe(pieceBytes)
  readonly #send: (piece: Buffer) => void
  #size = 0

  constructor(send: (piece: Buffer) => void) {
    this.#send = send
  }

  add(row: Buffer): void {
    if (this.#size + row.length > pieceBytes) this.flush()
    if (row.length > pieceBytes) return this.#send(row)
    row.copy(this.#buffer, this.#size)
    this.#size += row.length
  }

  flush(): void {
    if (this.#size > 0) this.#send(this.#buffer.subarray(0, this.#size))
    this.#size = 0
  }
}
