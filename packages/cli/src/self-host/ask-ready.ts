import { isCertificateCode } from '@svc/contract/certificates'
import type { ServerState } from './state.ts'

const askMs = 3000

export interface Ready {
  version: string
  model: string
  /** After a restore, until `svc self-host resume`. Servers of earlier versions do not send it. */
  held?: { backup_created_at: string } | null
  providers: { apps: string; connectors: string }
  disk?: { ready: boolean; problem: string | null }
  sandbox: { driver: string; ready: boolean; problem: string | null }
}

/** Null when it does not answer in time: it is starting, stopping or stuck. */
export async function askReady(server: Pick<ServerState, 'url'>): Promise<Ready | null> {
  const answer = await tryReady(server)
  return answer === null || 'untrusted' in answer ? null : answer
}

/** `untrusted` says why this client does not accept the certificate of the address. */
export async function tryReady({ url }: Pick<ServerState, 'url'>): Promise<Ready | { untrusted: string } | null> {
  if (url === null) return null
  try {
    const reply = await fetch(`${url}/v1/ready`, { redirect: 'manual', signal: AbortSignal.timeout(askMs) })
    return reply.ok ? ((await reply.json()) as Ready) : null
  } catch (error) {
    const { code, message } = error as Error & { code?: unknown }
    return isCertificateCode(String(code)) ? { untrusted: message } : null
  }
}
