import { connect } from 'node:net'

/** What a port of this machine answers to exactly these bytes: its head, when it upgrades, or all until it ends. */
export function sendRaw(port: number, bytes: string): Promise<string> {
  return new Promise((resolve) => {
    let answer = ''
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes, 'latin1'))
    const done = () => {
      clearTimeout(timer)
      socket.destroy()
      resolve(answer)
    }
    // A server that keeps silent about half a request is no finding: nothing of it got through.
    const timer = setTimeout(done, 10_000)
    socket.on('data', (chunk) => {
      answer += chunk.toString('latin1')
      if (answer.startsWith('HTTP/1.1 101') && answer.includes('\r\n\r\n')) done()
    })
    socket.on('close', done)
    socket.on('error', done)
  })
}
