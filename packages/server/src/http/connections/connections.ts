/** Caps on open connections, overall and per client, so that slow or greedy clients leave places for the others. */
import type { Socket } from 'node:net'
import { ServiceError } from '@svc/contract'
import type { NetworkConfig } from '../../config/network.ts'
import { clientNetwork, plainAddress } from './client-address.ts'

interface Connection {
  peer: string
  /** Several clients share a proxy's connections, so only the overall cap applies to them. */
  isProxy: boolean
  /** Runs until the first request has all its headers; behind the PROXY protocol, for each later request too. */
  headers: ReturnType<typeof setTimeout> | null
  /** Requests without a complete reply. Only connections behind the PROXY protocol decrement it. */
  requests: number
  /** The client of an event stream or WebSocket; null for a connection of plain requests. */
  streamOf: string | null
}

/** Keeps an attack from filling the log. */
const reportEveryMs = 60_000

export class Connections {
  readonly #config: Pick<NetworkConfig, 'trustsProxy' | 'limits'>
  readonly #onRefused: (reason: string) => void
  readonly #open = new Map<Socket, Connection>()
  /** Connections that wait for a request, longest first. */
  readonly #silent = new Set<Socket>()
  readonly #plain = new Tally()
  readonly #streams = new Tally()
  #refused = 0
  #refusedInAll = 0
  #reportAt = 0

  constructor(config: Pick<NetworkConfig, 'trustsProxy' | 'limits'>, onRefused: (reason: string) => void) {
    this.#config = config
    this.#onRefused = onRefused
  }

  load(): { connections: number; streams: number; refused: number } {
    return { connections: this.#open.size, streams: this.#streams.total, refused: this.#refusedInAll }
  }

  /** Counts a new connection, or ends it at a cap. */
  add(socket: Socket): void {
    const { limits, trustsProxy } = this.#config
    const address = plainAddress(socket.remoteAddress ?? '') ?? 'unknown'
    const isProxy = address !== 'unknown' && trustsProxy(address)
    const peer = clientNetwork(address)
    if (!isProxy && this.#plain.of(peer) >= limits.connectionsPerAddress)
      return this.refuse(socket, `${peer} has ${limits.connectionsPerAddress} connections open`)
    if (this.#plain.total >= limits.connections) {
      const [oldest] = this.#silent
      if (oldest === undefined) return this.refuse(socket, `${limits.connections} connections are open`)
      // Ends an idle connection to make place for one with a request.
      this.#end(oldest)
    }
    const headers = setTimeout(() => this.#end(socket), limits.headersMs)
    this.#open.set(socket, { peer, isProxy, headers, requests: 0, streamOf: null })
    this.#silent.add(socket)
    this.#plain.add(peer)
    socket.once('close', () => this.#remove(socket))
  }

  /** The headers of a request are complete. */
  heard(socket: Socket): void {
    const connection = this.#open.get(socket)
    if (connection === undefined) return
    this.#silent.delete(socket)
    connection.requests++
    if (connection.headers === null) return
    clearTimeout(connection.headers)
    connection.headers = null
  }

  /** A reply is complete, so the connection may be ended at a cap. With `withinMs` the next request's headers have to be complete by then. */
  answered(socket: Socket, withinMs: number | null): void {
    const connection = this.#open.get(socket)
    if (connection === undefined || --connection.requests > 0 || connection.streamOf !== null) return
    this.#silent.add(socket)
    if (withinMs !== null) connection.headers = setTimeout(() => this.#end(socket), withinMs)
  }

  /** The peer relays this client, whose caps apply from now on. False when the client is at its cap. */
  relays(socket: Socket, address: string): boolean {
    const connection = this.#open.get(socket)
    if (connection === undefined) return false
    const { limits, trustsProxy } = this.#config
    const client = clientNetwork(address)
    if (!trustsProxy(address) && this.#plain.of(client) >= limits.connectionsPerAddress) {
      this.refuse(socket, `${client} has ${limits.connectionsPerAddress} connections open`)
      return false
    }
    this.#plain.remove(connection.peer)
    this.#plain.add(client)
    connection.peer = client
    return true
  }

  /** The connection carries a stream of that client from now on. Throws at the cap. */
  beginStream(socket: Socket, address: string): void {
    const connection = this.#open.get(socket)
    if (connection === undefined || connection.streamOf !== null) return
    const { limits } = this.#config
    const client = clientNetwork(address)
    if (this.#streams.of(client) >= limits.streamsPerAddress || this.#streams.total >= limits.streams)
      throw new ServiceError('limit_reached', 'Too many event streams and WebSockets are open.', {
        hint: 'Close some, or ask the operator to raise SVC_STREAMS_PER_ADDRESS or SVC_STREAMS_MAX.',
      })
    connection.streamOf = client
    this.#plain.remove(connection.peer)
    this.#streams.add(client)
  }

  endStream(socket: Socket): void {
    const connection = this.#open.get(socket)
    if (connection === undefined || connection.streamOf === null) return
    this.#streams.remove(connection.streamOf)
    connection.streamOf = null
    this.#plain.add(connection.peer)
  }

  /** Ends a connection and reports it, at most once a minute. */
  refuse(socket: Socket, reason: string): void {
    socket.destroy()
    this.#refused++
    this.#refusedInAll++
    const now = performance.now()
    if (now < this.#reportAt) return
    this.#reportAt = now + reportEveryMs
    this.#onRefused(`${reason}; ${this.#refused} refused since the last report`)
    this.#refused = 0
  }

  #end(socket: Socket): void {
    this.#remove(socket)
    socket.destroy()
  }

  #remove(socket: Socket): void {
    const connection = this.#open.get(socket)
    if (connection === undefined) return
    this.endStream(socket)
    if (connection.headers !== null) clearTimeout(connection.headers)
    this.#open.delete(socket)
    this.#silent.delete(socket)
    this.#plain.remove(connection.peer)
  }
}

class Tally {
  total = 0
  readonly #counts = new Map<string, number>()

  of(key: string): number {
    return this.#counts.get(key) ?? 0
  }

  add(key: string): void {
    this.total++
    this.#counts.set(key, this.of(key) + 1)
  }

  remove(key: string): void {
    this.total--
    const left = this.of(key) - 1
    if (left > 0) this.#counts.set(key, left)
    else this.#counts.delete(key)
  }
}
