/** `fetch` for addresses that a project names: judged, dialled at the very address that was judged, and bounded. */
import http from 'node:http'
import https from 'node:https'
import { isIP } from 'node:net'
import { closedNetwork, pinnedLookup } from '@svc/git'
import { type DialPolicy, publicInternet } from './dial.ts'

export interface GuardOptions {
  /** The operator lets projects name hosts of private networks, and http without TLS. */
  allowPrivate: boolean
  /** Of one answer, streams included. */
  bytesMax: number
  /** Without a byte from the other side. */
  idleMs: number
  resolve?: DialPolicy['resolve']
}

/** An address that nothing here may dial; the message is for whoever wrote it. */
export class AddressRefused extends Error {}
/** The other side said more than it may. */
export class AnswerTooLarge extends Error {}

type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>

/** Follows no redirect, which would carry the credential along: whoever calls decides what to do with one. */
export function guardedFetch(options: GuardOptions): Fetch {
  return async (input, init = {}) => {
    const url = new URL(input)
    const refusal = refuseUrl(url, options.allowPrivate)
    if (refusal !== null) throw new AddressRefused(refusal)
    const host = url.hostname.replace(/^\[|\]$/g, '')
    const pin = isIP(host) === 0 ? await judged(host, options) : [host]
    return send(url, init, pin, options)
  }
}

/** What can be said of an address before its name is resolved; null when it may be tried. */
export function refuseUrl(url: URL, allowPrivate: boolean): string | null {
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return `${url.protocol} addresses cannot be called.`
  if (url.protocol === 'http:' && !allowPrivate)
    return 'The address has to begin with https://: over http, the credential could be read on the way.'
  if (url.username !== '' || url.password !== '') return 'The address holds a user name or password.'
  const host = url.hostname.replace(/^\[|\]$/g, '')
  if (isIP(host) !== 0) return refuseAddress(host, host, allowPrivate)
  if (
    !allowPrivate &&
    (/(?:^|\.)(?:localhost|local|internal|intranet|lan|home|corp|home\.arpa)$/.test(host) || !host.includes('.'))
  )
    return `The host ${host} is a private name, and this server calls public ones only.`
  return null
}

async function judged(
  host: string,
  { allowPrivate, resolve = publicInternet.resolve }: GuardOptions,
): Promise<string[]> {
  let addresses: string[]
  try {
    addresses = await resolve(host)
  } catch (error) {
    throw new Error(`The host ${host} could not be resolved.`, { cause: error })
  }
  if (addresses.length === 0) throw new Error(`The host ${host} has no address.`)
  // One private answer among public ones is how rebinding begins, so every answer counts.
  for (const address of addresses) {
    const refusal = refuseAddress(host, address, allowPrivate)
    if (refusal !== null) throw new AddressRefused(refusal)
  }
  return addresses
}

/** Metadata services hand out the credentials of the machine, so no setting opens the way to them. */
const metadata = /^(link-local|a metadata service)/
const metadata6 = /^fd00:ec2:(:|0*:).*254$/i

function refuseAddress(host: string, address: string, allowPrivate: boolean): string | null {
  const what = closedNetwork(address)
  if (what === null) return null
  if (allowPrivate && !metadata.test(what) && !metadata6.test(address)) return null
  const leads = host === address ? `${address} is ${what}` : `The host ${host} leads to ${address}: ${what}`
  return `${leads}. This server does not call there.`
}

function send(url: URL, init: RequestInit, pin: string[], options: GuardOptions): Promise<Response> {
  const settings: https.RequestOptions = {
    method: init.method ?? 'GET',
    headers: { 'user-agent': 'svc', ...Object.fromEntries(new Headers(init.headers)), 'accept-encoding': 'identity' },
    lookup: pinnedLookup(pin),
  }
  return new Promise((resolve, reject) => {
    const given = { up: null as unknown }
    const request = (url.protocol === 'https:' ? https : http).request(url, settings, (response) => {
      const status = response.statusCode ?? 502
      const headers = new Headers()
      for (const [name, value] of Object.entries(response.headers)) headers.set(name, String(value))
      // Whoever reads the body is told of it there; of one that nobody reads, an end is no news.
      response.on('error', () => {})
      const isBodiless = [204, 205, 304].includes(status)
      if (isBodiless) response.resume()
      resolve(new Response(isBodiless ? null : bounded(response, options, given), { status, headers }))
    })
    // Ended without an error of its own: Bun throws one at its inner socket, where nobody can listen.
    const giveUp = (reason: unknown) => {
      given.up ??= reason
      reject(reason)
      request.destroy()
    }
    const { signal } = init
    const abort = () => giveUp(signal?.reason ?? new Error('It was given up.'))
    if (signal?.aborted === true) abort()
    signal?.addEventListener('abort', abort)
    request.on('close', () => signal?.removeEventListener('abort', abort))
    request.setTimeout(options.idleMs, () =>
      giveUp(new Error(`${url.host} said nothing for ${Math.round(options.idleMs / 1000)} s.`)),
    )
    request.on('error', (error) => reject(given.up ?? error))
    request.end(init.body == null ? undefined : String(init.body))
  })
}

function bounded(
  response: http.IncomingMessage,
  { bytesMax }: GuardOptions,
  given: { up: unknown },
): ReadableStream<Uint8Array> {
  let bytes = 0
  const chunks = (response as AsyncIterable<Buffer>)[Symbol.asyncIterator]()
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await chunks.next()
        if (given.up !== null) throw given.up
        if (done === true) return controller.close()
        bytes += value.length
        if (bytes > bytesMax) throw new AnswerTooLarge(`The answer is larger than ${bytesMax} bytes.`)
        controller.enqueue(new Uint8Array(value))
      } catch (error) {
        response.destroy()
        controller.error(given.up ?? error)
      }
    },
    cancel: () => void response.destroy(),
  })
}
