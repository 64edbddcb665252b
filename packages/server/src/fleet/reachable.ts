/** Whether a server is reached at its address: whether something listens there, and whether it is that server. */
import { connect } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { ServiceError } from '@svc/contract'
import type { Deps } from '../deps.ts'
import type { App } from '../http/mount.ts'
import { replyError } from '../http/reply-error.ts'
import { addressOf } from './pass.ts'
import { nameHeader, readName, readSigned, serverHeader, serverKeyPurpose, signName, signOwn } from './peer-header.ts'
import { certifiedServer, fetchTrust, isOtherCertificate, type PeerTls } from './peer-tls.ts'
import { findServer, type Peer } from './store.ts'

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

const namePath = '/v1/peer/server'
/** A server that does not answer by then is of no use to the others. */
const answerMsMax = 2_000

/** `other`: another server, or another program (null), answers at the address of that server. */
export type Answering = { kind: 'itself' } | { kind: 'silent' } | { kind: 'other'; name: string | null }

export type AskingDeps = Pick<Deps, 'config' | 'db' | 'keyring' | 'now' | 'peerTls' | 'serverName'>

/** Asks whoever answers at the address of that server for a proof of its name. */
export async function whoAnswers(deps: AskingDeps, peer: Peer): Promise<Answering> {
  const { config, db, keyring, now, peerTls, serverName } = deps
  const key = keyring.derive(serverKeyPurpose)
  const between = { from: serverName, to: peer.server_name }
  const asked = signOwn(key, { method: 'GET', path: namePath }, between, now().getTime())
  const trust = fetchTrust(peerTls, peer)
  const answer = await fetch(`${peer.peer_url}${namePath}`, {
    headers: { host: new URL(config.publicUrl).host, [serverHeader]: asked },
    signal: AbortSignal.timeout(answerMsMax),
    redirect: 'manual',
    ...trust,
  }).catch(async (error: unknown): Promise<Answering> => {
    if (!isOtherCertificate(error)) return { kind: 'silent' }
    return { kind: 'other', name: peerTls === null ? null : await certifiedNameAt(peerTls, peer) }
  })
  if (!(answer instanceof Response)) return answer
  await answer.body?.cancel()
  const name = readName(key, answer.headers.get(nameHeader), asked)
  // Its certificate proves the name, too.
  if (name === peer.server_name || 'tls' in trust) return { kind: 'itself' }
  if (name !== null) return { kind: 'other', name }
  // A server of an earlier version does not know the question.
  const recorded = await findServer(db, { server_name: peer.server_name })
  return recorded?.settings?.[provesName] === undefined ? { kind: 'itself' } : { kind: 'other', name: null }
}

export async function isAnswering(deps: AskingDeps, peer: Peer): Promise<boolean> {
  return (await whoAnswers(deps, peer)).kind === 'itself'
}

/** The server of this database whose certificate is shown at an address. It gets no request. Null: there is none. */
function certifiedNameAt(tls: PeerTls, peer: Peer): Promise<string | null> {
  return new Promise((resolve) => {
    const trust = { ...tls.trust(peer), checkServerIdentity: () => undefined }
    const socket = connectTls({ ...addressOf(peer.peer_url), ...trust, timeout: answerMsMax })
    const end = (name: string | null) => {
      socket.destroy()
      resolve(name)
    }
    socket.on('secureConnect', () => end(certifiedServer(socket.getPeerCertificate())))
    socket.on('timeout', () => end(null))
    socket.on('error', () => end(null))
  })
}

export function answererText({ name }: Extract<Answering, { kind: 'other' }>): string {
  return name === null ? 'another program' : `the server ${name}`
}

/** A server records it with its settings, so that an answer without a proof is not taken for its own. */
export const provesName = 'proves_name'

/** Registered before everything that judges users and hosts. The name is for servers of this database alone. */
export function nameRoute(
  app: App,
  deps: Pick<Deps, 'config' | 'disk' | 'keyring' | 'log' | 'redaction' | 'serverName'>,
): void {
  app.get(namePath, (c) => {
    const key = deps.keyring.derive(serverKeyPurpose)
    const asked = c.req.header(serverHeader)
    // Also of a question for another server, which has this address by mistake, and whatever the clocks say.
    if (asked !== undefined && readSigned(key, { method: c.req.method, path: namePath, header: asked }) !== null)
      return new Response(null, { status: 204, headers: { [nameHeader]: signName(key, deps.serverName, asked) } })
    const error = new ServiceError('not_found', 'There is no such route.')
    return replyError(error, { id: c.get('requestId'), method: c.req.method, path: c.req.path }, deps)
  })
}

/** For a look at intervals: a database that does not answer says nothing about another server. */
export function lookAgain(): void {}
