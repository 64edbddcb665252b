/** Ends connections whose database does not answer: where the network drops packets, only TCP would notice, after minutes. */
import type pg from 'pg'

/**
 * A query without an answer within `answerMsMax` ends its connection, so that its caller gets the same error as for a
 * connection that broke: nobody knows whether a COMMIT was carried out. The server-side statement timeout does not
 * help, as its report is lost too. The idle connections of the pool end with it: a firewall that forgot one of them
 * has probably forgotten all.
 */
export function limitAnswers(pool: pg.Pool, answerMsMax: number): void {
  const idle = new Set<pg.PoolClient>()
  pool.on('acquire', (client) => void idle.delete(client))
  pool.on('release', (_error, client) => void idle.add(client))
  pool.on('remove', (client) => void idle.delete(client))
  pool.on('connect', (client) => {
    limitClient(client, answerMsMax, () => {
      for (const other of idle) end(other, 'Another connection of the pool got no answer.')
    })
  })
}

function limitClient(client: pg.PoolClient, answerMsMax: number, ended: () => void): void {
  let timer: ReturnType<typeof setTimeout> | undefined
  let isWaiting = false
  const answered = () => {
    isWaiting = false
    clearTimeout(timer)
  }
  const expire = () => {
    if (!isWaiting) return
    end(client, `The database did not answer within ${answerMsMax} ms.`)
    ended()
  }
  const query = client.query.bind(client) as (...args: unknown[]) => unknown
  const limited = (...args: unknown[]) => {
    clearTimeout(timer)
    isWaiting = true
    // A process that was suspended first reads the answers that came meanwhile.
    timer = setTimeout(() => setImmediate(expire), answerMsMax)
    return query(...args)
  }
  client.query = limited as typeof client.query
  client.on('drain', answered)
  client.on('error', answered)
  client.on('end', answered)
}

/** With an error, so that the driver fails the query that waits, and takes no other. */
function end(client: pg.PoolClient, reason: string): void {
  client.connection.stream.destroy(new Error(reason))
}
