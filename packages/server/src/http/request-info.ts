import type { ServerResponse } from 'node:http'
import type { Context } from 'hono'
import type { Actor } from '../auth/actor.ts'
import type { Credentials } from '../auth/authenticate.ts'
import { addressOf, type ListenedRequest } from './connections/client-address.ts'

/** Facts about a request for handlers and guards, read once. */
export interface RequestInfo {
  id: string
  /** Null before the caller is authenticated. */
  actor: Actor | null
  /** Whether the actor's role in the project allows writing. */
  mayWrite: boolean
  method: string
  url: string
  path: string
  address: string
  signal: AbortSignal
  headers: Headers
  /** True for requests through the relay of a sandbox. */
  fromSandbox: boolean
  idempotencyKey: string | null
  /** The id for a resource that a handler creates, the same when the request is a retry. */
  resourceId: string
  /** It was answered before under its key and that answer is not stored: create nothing again. */
  isRepetition: boolean
  /** Sentences about successful changes that may be mistakes, sent in the header Svc-Warnings. */
  warnings: string[]
}

export interface Bindings {
  incoming?: ListenedRequest
  outgoing?: ServerResponse
}

export type AppContext = Context<{ Bindings: Bindings; Variables: { requestId: string } }>

export function clientAddress(c: AppContext): string {
  return addressOf(c.env?.incoming)
}

export function credentialsOf(request: Pick<Request, 'headers' | 'method'>): Credentials {
  return {
    authorization: request.headers.get('authorization'),
    cookie: request.headers.get('cookie'),
    method: request.method,
    origin: request.headers.get('origin'),
    secFetchSite: request.headers.get('sec-fetch-site'),
    host: request.headers.get('host'),
  }
}

/** Whether an Accept header names exactly this type. */
export function accepts(header: string | null, type: string): boolean {
  return (header ?? '').split(',').some((part) => part.split(';')[0]!.trim().toLowerCase() === type)
}
