/** Passes connections from one place to another, each a Unix socket or address:port. Only sockets lead out of a network namespace. */
import { connect, createServer } from 'node:net'

type Place = { path: string } | { host: string; port: number }

function placeOf(text: string): Place {
  const at = /^([\d.]+):(\d+)$/.exec(text)
  return at === null ? { path: text } : { host: at[1]!, port: Number(at[2]) }
}

const [from = '', to = ''] = process.argv.slice(2)

createServer((outside) => {
  const inside = connect(placeOf(to))
  inside.pipe(outside).pipe(inside)
  for (const socket of [inside, outside])
    socket.on('error', () => {}).on('close', () => (inside.destroy(), outside.destroy()))
}).listen(placeOf(from))
