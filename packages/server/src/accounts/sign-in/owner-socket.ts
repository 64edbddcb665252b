/**
 * The socket on which `svc self-host` requests a sign-in link, the server's process id, the doctor's findings, the
 * file of the master key, or the
 * end of the server with its sessions. It is in the data folder with mode 0600: the kernel admits only the server's user, and no API token is involved.
 */
import { chmod, open, rename, rm } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { join } from 'node:path'
import { errorStatus, ServiceError } from '@svc/contract'
import {
  type DoctorReport,
  examinePath,
  masterKeyPath,
  ownerSocketName,
  ownerSocketPath,
  serverInfoPath,
  type ServerInfo,
  type StopWithSessions,
  stopWithSessionsPath,
} from '@svc/contract/daemon/owner-socket'
import type { Deps } from '../../deps.ts'
import { asRefusal } from '../../http/reply-error.ts'
import { operatorsLink } from './owner-link.ts'

const bodyBytesMax = 4096

export interface OwnerSocket {
  close(): Promise<void>
}

type SocketDeps = Pick<Deps, 'db' | 'now' | 'newId' | 'config' | 'randomBytes' | 'log' | 'disk'>

interface OfServer {
  info(): Promise<ServerInfo>
  examine(): Promise<DoctorReport>
  /** Writes the master key to its file where that is gone. */
  rewriteMasterKey(): Promise<boolean>
  /** Saves the work of its sessions. Throws when work cannot be saved. */
  saveSessions(): Promise<void>
  /** Begins the end of this server and of its sessions. False when it stops already and leaves them running. */
  stopWithSessions(): boolean
}

export async function serveOwnerSocket(deps: SocketDeps, ofServer: OfServer): Promise<OwnerSocket> {
  const path = join(deps.config.dataDir, ownerSocketName)
  const server = createServer((request, response) => void answer(deps, request, response, ofServer))
  server.requestTimeout = 10_000
  // A socket path may have 107 bytes. Going through the descriptor keeps it short for any data folder.
  const folder = await open(deps.config.dataDir, 'r')
  // Renamed into place: between a removal and a bind, another server on this folder could take the name.
  const own = `${ownerSocketName}.${deps.newId().slice(0, 8)}`
  const before = process.umask(0o177)
  try {
    const listening = new Promise<void>((resolve, reject) => server.once('listening', resolve).once('error', reject))
    server.listen(`/proc/self/fd/${folder.fd}/${own}`)
    await listening
    await chmod(join(deps.config.dataDir, own), 0o600)
    await rename(join(deps.config.dataDir, own), path)
  } catch (error) {
    await folder.close()
    throw error
  } finally {
    process.umask(before)
  }
  return {
    async close() {
      server.closeAllConnections()
      await new Promise<void>((resolve) => server.close(() => resolve()))
      await folder.close()
      await rm(path, { force: true })
    },
  }
}

async function answer(
  deps: SocketDeps,
  request: IncomingMessage,
  response: ServerResponse,
  ofServer: OfServer,
): Promise<void> {
  const send = (status: number, body: object) => {
    response.writeHead(status, { 'content-type': 'application/json; charset=utf-8' })
    response.end(JSON.stringify(body))
  }
  try {
    if (request.method === 'GET' && request.url === serverInfoPath) return send(200, await ofServer.info())
    if (request.method === 'GET' && request.url === examinePath) return send(200, await ofServer.examine())
    if (request.method === 'POST' && request.url === masterKeyPath) {
      const written = await ofServer.rewriteMasterKey()
      return send(written ? 201 : 200, { written })
    }
    if (request.method === 'POST' && request.url === stopWithSessionsPath)
      return send(202, await stopWithSessions(ofServer, await readBody<StopWithSessions>(request)))
    if (request.method !== 'POST' || request.url !== ownerSocketPath)
      throw new ServiceError('not_found', 'There is no such route.')
    send(201, await operatorsLink(deps, { email: emailIn(await readBody(request)), requestId: deps.newId() }))
  } catch (error) {
    const hint = 'Its log says why: svc self-host logs'
    const known = asRefusal(error, 'GET', deps) ?? new ServiceError('internal', 'The server failed.', { hint })
    if (known !== error) deps.log.error({ err: error }, 'owner socket request failed')
    send(errorStatus(known.code), known.toBody())
  }
}

async function stopWithSessions(server: OfServer, { discard }: StopWithSessions): Promise<ServerInfo> {
  const info = await server.info()
  if (discard !== true) await server.saveSessions()
  if (server.stopWithSessions()) return info
  throw new ServiceError('conflict', 'This server is stopping already and leaves its sandboxes running.', {
    hint: 'Run the command again once the server has stopped.',
  })
}

/** An empty body is an empty object. */
async function readBody<T extends object>(request: IncomingMessage): Promise<Partial<T>> {
  let text = ''
  for await (const chunk of request.setEncoding('utf8')) {
    text += chunk
    if (text.length > bodyBytesMax) throw new ServiceError('body_too_large', 'The request is too large.')
  }
  if (text === '') return {}
  try {
    return JSON.parse(text) as Partial<T>
  } catch (error) {
    throw new ServiceError('invalid', 'The request is not valid JSON.', { cause: error })
  }
}

function emailIn({ email }: { email?: unknown }): string | null {
  return typeof email === 'string' ? email.trim().toLowerCase() : null
}
