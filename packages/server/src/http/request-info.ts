import type { ServerResponse } from 'node:http'
import type { Context } from 'hono'
import type { Actor } from '../auth/actor.ts'
import type { Credentials } from '../auth/authenticate.ts'
import { addressOf, type ListenedRequest } from './client-address.ts'

/** Facts of one request that handlers and guards need, read once. */
export interface RequestInfo {
  id: string
  /** Null before the caller is known. */
  actor: Actor | null
  /** Whether their role in the project writes. */
  mayWrite: boolean
  method: string
  url: string
  path: string
  address: string
  signal: AbortSignal
  headers: Headers
  /** True for what came over the relay of a sandbox. */
  fromSandbox: boolean
  idempotencyKey: string | null
  /** The id a creating handler gives what it makes: the same again when the request is a retry. */
  resourceId: string
  /** It was answered before under its key, and that answer is not kept: nothing is made anew. */
  isRepetition: boolean
  /** Sentences about what was done and may be a mistake; they go with the answer as the header Svc-Warnings. */
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

export function credentialsOf(request: Request): Credentials {
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
