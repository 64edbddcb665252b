/** The client's use of the SDK: its requests stop with the terminal, and its failures say what to do next. */
import { isCertificateCode } from '@svc/contract/certificates'
import * as sdk from '@svc/sdk'
import { version } from './config/build-values.ts'
import { Refusal } from './errors.ts'
import type { Io } from './io.ts'
import { type Client, clientOver, type Connection, type Options } from './requests.ts'

export function connect(
  io: Pick<Io, 'signal' | 'sleep' | 'newId'>,
  host: { name: string; base: string },
  token: string | null,
): Client {
  return clientOver(async () => openConnection(io, host, token))
}

export function openConnection(
  io: Pick<Io, 'signal' | 'sleep' | 'newId'>,
  host: { name: string; base: string },
  token: string | null,
  notice?: sdk.SlowNotice,
): Connection {
  const api = sdk.createSvcClient({
    baseUrl: host.base,
    token,
    userAgent: `svc/${version}`,
    signal: io.signal,
    sleep: (ms) => io.sleep(ms),
    ...(notice === undefined ? {} : { notice }),
  })
  const request = api.request as unknown as (method: string, path: string, init: object) => Promise<sdk.Answer<object>>
  const withHeaders = ({ once, headers, ...rest }: Options) => ({
    ...rest,
    headers: { ...headers, ...(once ? sdk.onlyOnce(io.newId) : {}) },
  })
  return {
    send(answer, method, path, { path: named, query, ...rest }) {
      const how = answer === 'replyStream' ? { parseAs: 'stream' } : {}
      const take: (call: Promise<sdk.Answer<object>>) => Promise<unknown> = readers[answer]
      return take(request(method, path, { params: { path: named, query }, ...withHeaders(rest), ...how })).catch(
        rethrowGuided,
      )
    },
    route: (method, path, options = {}) => sdk.callRoute(api, method, path, withHeaders(options)).catch(rethrowGuided),
  }
}

const { reply, replyPage, replyStream, replyWarned } = sdk
const readers = { reply, replyPage, replyStream, replyWarned }

function rethrowGuided(error: unknown): never {
  throw guided(error)
}

/** A proxy or balancer answers with these when no server answered it. */
const proxyStatus = new Set([502, 503, 504])

function noServerBehind(address: string, status: number): Refusal {
  return new Refusal(
    'bad_answer',
    `A proxy or balancer at ${address} answered with status ${status}: no server behind it answered in time`,
    {
      hint: 'A server may be stopped, starting or paused. On the machine of each server, svc self-host status says more.',
      detail: { status },
    },
  )
}

/** A failure of the connection with its next step; every other error as it is. */
function guided(error: unknown): Error {
  if (!(error instanceof sdk.TransportError)) return error as Error
  const { failure, message, address, location, status, cause } = error
  switch (failure) {
    case 'timed_out':
      return new Refusal('timed_out', message, {
        hint: 'A program accepts connections there and sends nothing: the server may be paused, overloaded, or waiting for a slow git host. On its machine, svc self-host status says more.',
        cause,
      })
    case 'redirected':
      return new Refusal('bad_answer', message, {
        hint: `It points to ${location}. Add that address as the host if it is right.`,
        next: ['svc hosts add <name> --url <url>'],
      })
    case 'bad_answer':
      if (cause !== undefined)
        return new Refusal('bad_answer', message, { hint: 'Is this address a svc server?', cause })
      if (status !== null && proxyStatus.has(status)) return noServerBehind(address, status)
      return new Refusal('bad_answer', message, { next: ['svc hosts ls'], detail: status === null ? {} : { status } })
    case 'unreachable':
      return unreachable(message, address, cause)
    default:
      return failure satisfies never
  }
}

export const trustHint =
  'If it is of a private certificate authority, name the file with that authority: export NODE_EXTRA_CA_CERTS=<file>.pem'

function unreachable(message: string, address: string, cause: unknown): Refusal {
  const isLocal = /^https?:\/\/(127\.|localhost|\[::1\])/.test(address)
  const code = String((cause as { code?: unknown }).code ?? '')
  if (isCertificateCode(code))
    return new Refusal('unreachable', `The certificate of ${address} is not trusted: ${(cause as Error).message}`, {
      hint: trustHint,
      detail: { reason: code },
      cause,
    })
  return new Refusal('unreachable', message, {
    hint: isLocal
      ? 'Is the server running? A server of your own starts with svc self-host start, or with npm start in its clone.'
      : `Check the address and the network. (${code || (cause as Error).message})`,
    next: isLocal ? ['svc self-host start', 'svc self-host status', 'svc hosts ls'] : ['svc hosts ls'],
    cause,
  })
}
