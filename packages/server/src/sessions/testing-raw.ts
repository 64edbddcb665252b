import { connect } from 'node:net'

/** Sends exactly these bytes to a local port and returns the reply: its head for an upgrade, otherwise everything. */
export function sendRaw(port: number, bytes: string): Promise<string> {
  return new Promise((resolve) => {
    let answer = ''
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes, 'latin1'))
    const done = () => {
      clearTimeout(timer)
      socket.destroy()
      resolve(answer)
    }
    // Silence after half a request is fine: the server accepted none of it.
    const timer = setTimeout(done, 10_000)
    socket.on('data', (chunk) => {
      answer += chunk.toString('latin1')
      if (answer.startsWith('HTTP/1.1 101') && answer.includes('\r\n\r\n')) done()
    })
    socket.on('close', done)
    socket.on('error', done)
  })
}
