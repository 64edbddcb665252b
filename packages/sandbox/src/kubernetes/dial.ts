/** Connections to pods by their addresses, for a server in the cluster. */
import { connect } from 'node:net'
import type { Duplex } from 'node:stream'

import { linkPort } from '../layout.ts'

const dialMs = 10_000

export function dialPod(host: string, signal: AbortSignal): Promise<Duplex> {
  return new Promise((done, reject) => {
    const socket = connect({ host, port: linkPort, noDelay: true, keepAlive: true })
    const fail = (error: Error) => {
      socket.destroy()
      reject(error)
    }
    const timer = setTimeout(() => fail(new Error(`${host} does not answer.`)), dialMs)
    const stop = () => fail(new Error('The link is closed.'))
    signal.addEventListener('abort', stop)
    socket.once('error', fail)
    socket.once('close', () => signal.removeEventListener('abort', stop))
    socket.once('connect', () => {
      clearTimeout(timer)
      socket.off('error', fail)
      done(socket)
    })
  })
}
