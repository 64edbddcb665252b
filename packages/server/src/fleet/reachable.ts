import { connect } from 'node:net'
import { addressOf } from './pass.ts'
import { fetchTrust, type PeerTls } from './peer-tls.ts'
import type { Peer } from './store.ts'

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

/** A server that does not answer by then is of no use to the others. */
const answerMsMax = 2_000

/** Whether that server itself answers: with https, no other program passes for it. */
export async function isAnswering(peerTls: PeerTls | null, peer: Peer): Promise<boolean> {
  const signal = AbortSignal.timeout(answerMsMax)
  const options = { signal, redirect: 'manual', ...fetchTrust(peerTls, peer) } as const
  const asked = fetch(`${peer.peer_url}/health`, options)
  const answer = await asked.catch(silent)
  await answer?.body?.cancel()
  return answer !== null
}

/** That it does not answer is the finding. */
function silent(): null {
  return null
}
