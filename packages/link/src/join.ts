import { connect } from 'node:net'
import type { Duplex } from 'node:stream'

/** Copies raw bytes in both directions, with backpressure. Each end can close its half; a cut of one cuts the other. */
export function joinStreams(one: Duplex, other: Duplex): void {
  const cut = () => {
    one.destroy()
    other.destroy()
  }
  one.on('error', cut)
  other.on('error', cut)
  one.on('close', () => {
    // After an orderly close, data still on its way out may pass.
    if (!one.readableEnded) other.destroy()
  })
  other.on('close', () => {
    if (!other.readableEnded) one.destroy()
  })
  one.pipe(other)
  other.pipe(one)
}

const againMs = 3

/** Leads the stream to the Unix socket, or ends it when nothing has listened there for `patienceMs`. */
export function joinSocket(stream: Duplex, path: string, patienceMs = 0): void {
  const deadline = performance.now() + patienceMs
  const dial = () => {
    if (stream.destroyed) return
    const socket = connect({ path, allowHalfOpen: true })
    const giveUp = () => void socket.destroy()
    const fail = () => {
      stream.off('close', giveUp)
      if (performance.now() < deadline) setTimeout(dial, againMs)
      else stream.destroy()
    }
    stream.once('close', giveUp)
    socket.once('error', fail)
    socket.once('connect', () => {
      stream.off('close', giveUp)
      socket.off('error', fail)
      joinStreams(stream, socket)
    })
  }
  dial()
}
