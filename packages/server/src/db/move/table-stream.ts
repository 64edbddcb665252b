/** The rows of a table as COPY text, read from or written to a stream. */
import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import type pg from 'pg'
import { connectionOf, Pieces, Reader, submit, waitingBytesMax, Writer } from './copy-table.ts'
import { columnList, quoted, type Table } from './tables.ts'

/** `onRow` is called for each row. The reading waits while nobody takes what was read. */
export function readRows(client: pg.Client, table: Table, onRow: () => void): AsyncIterable<Uint8Array> {
  const rows = new PassThrough({ highWaterMark: waitingBytesMax })
  const source = connectionOf(client).stream
  const pieces = new Pieces((piece) => {
    // The driver uses its memory again.
    if (rows.write(Buffer.from(piece)) || source.isPaused()) return
    source.pause()
    rows.once('drain', () => source.resume())
  })
  const reader = new Reader(`copy ${quoted(table.name)} (${columnList(table)}) to stdout`, (row) => {
    pieces.add(row)
    onRow()
  })
  void submit(client, reader).then(
    () => {
      pieces.flush()
      rows.end()
      // A stream that is ending does not drain, and the connection has to read for the next table.
      source.resume()
    },
    (error: Error) => rows.destroy(error),
  )
  return rows
}

/** When the rows break off, the caller closes the connection, which discards them. */
export async function writeRows(client: pg.Client, table: Table, rows: AsyncIterable<Uint8Array>): Promise<void> {
  const writer = new Writer(`copy ${quoted(table.name)} (${columnList(table)}) from stdin`)
  const written = submit(client, writer)
  const begun = await Promise.race([writer.begun, written])
  if (begun === undefined) throw new Error(`PostgreSQL did not take the rows of ${table.name}.`)
  const send = async () => {
    for await (const piece of rows) {
      begun.sendCopyFromChunk(Buffer.from(piece))
      if (begun.stream.writableLength > waitingBytesMax) await once(begun.stream, 'drain')
    }
    begun.endCopyFrom()
  }
  await Promise.all([send(), written])
}
