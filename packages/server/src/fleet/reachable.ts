import { connect } from 'node:net'
import { addressOf } from './pass.ts'

/** A machine that is busy accepts a connection within this time. */
const acceptMsMax = 3_000

/** Whether the server at this address accepts a connection. Where packets are dropped, an open one tells nothing for many minutes. */
export function isReachable(peerUrl: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(addressOf(peerUrl))
    const end = (answer: boolean) => {
      clearTimeout(timer)
      socket.destroy()
      resolve(answer)
    }
    const timer = setTimeout(() => end(false), acceptMsMax)
    socket.on('connect', () => end(true))
    socket.on('error', () => end(false))
  })
}
