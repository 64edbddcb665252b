/** Makes a port inside the cluster's network reachable by a Unix socket, which passes between network namespaces. */
import { connect, createServer } from 'node:net'

const [path = '', port = ''] = process.argv.slice(2)

createServer((outside) => {
  const inside = connect(Number(port), '127.0.0.1')
  inside.pipe(outside).pipe(inside)
  for (const socket of [inside, outside])
    socket.on('error', () => {}).on('close', () => (inside.destroy(), outside.destroy()))
}).listen(path)
