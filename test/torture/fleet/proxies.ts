/**
 * Where no network namespaces can be had, each server is reached over a proxy on loopback, as is PostgreSQL by each of
 * them. A cut link passes nothing on, not even the end of a connection. It shows a new connection as open, and does not
 * know who opened it, so a server that is cut from another one is cut from all who call it.
 */
import { connect, createServer, type NetConnectOpts, type Server, type Socket } from 'node:net'
import { freePort } from '@svc/git/testing'
import type { Cut, Network } from './network.ts'

export class Link {
  readonly #target: () => NetConnectOpts
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  /** What happens once it is whole again. Null: it is whole. */
  #waiting: (() => void)[] | null = null

  constructor(target: () => NetConnectOpts) {
    this.#target = target
    this.#server = createServer((near) => this.#whenWhole(() => this.#join(near)))
  }

  async listen(host = '127.0.0.1'): Promise<number> {
    await new Promise<void>((resolve) => this.#server.listen({ host, port: 0 }, resolve))
    return (this.#server.address() as { port: number }).port
  }

  cut(): void {
    this.#waiting ??= []
    for (const socket of this.#sockets) socket.pause()
  }

  heal(): void {
    const waiting = this.#waiting ?? []
    this.#waiting = null
    for (const socket of this.#sockets) socket.resume()
    for (const act of waiting) act()
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    await new Promise<void>((resolve) => this.#server.close(() => resolve()))
  }

  #whenWhole(act: () => void): void {
    if (this.#waiting === null) act()
    else this.#waiting.push(act)
  }

  #join(near: Socket): void {
    const far = connect(this.#target())
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      this.#sockets.add(from)
      from.on('data', (bytes) => to.write(bytes))
      from.on('error', () => from.destroy())
      from.on('close', () => {
        this.#sockets.delete(from)
        this.#whenWhole(() => to.destroySoon())
      })
    }
  }
}

export async function proxies(count: number): Promise<Network> {
  let database = ''
  const socket = () => ({ path: `${new URL(database).searchParams.get('host')}/.s.PGSQL.5432` })
  const all = await Promise.all(
    Array.from({ length: count }, async () => {
      const own = await freePort()
      const [toServer, toDatabase] = [new Link(() => ({ host: '127.0.0.1', port: own })), new Link(socket)]
      return { own, toServer, toDatabase, peer: await toServer.listen(), databasePort: await toDatabase.listen() }
    }),
  )
  const toCluster: Link[] = []
  const linkOf = ({ between: [n, other] }: Cut) =>
    other === 'database' ? all[n]!.toDatabase : other === 'cluster' ? toCluster[n]! : all[n]!.toServer
  const linksOf = (cuts: Cut[]) => cuts.map(linkOf)
  return {
    postgres: {},
    hosts: all.map(({ own, peer, databasePort }) => ({
      ...{ namespace: null, around: [], listens: '127.0.0.1' },
      frontUrl: `http://127.0.0.1:${own}`,
      peerUrl: `http://127.0.0.1:${peer}`,
      databaseUrl: `postgresql://svc@127.0.0.1:${databasePort}/postgres`,
    })),
    reach: (url) => void (database = url),
    async reachCluster(path) {
      toCluster.push(...all.map(() => new Link(() => ({ path }))))
      return Promise.all(toCluster.map(async (link) => `127.0.0.1:${await link.listen()}`))
    },
    cut: async (cuts) => linksOf(cuts).forEach((link) => link.cut()),
    heal: async (cuts) => linksOf(cuts).forEach((link) => link.heal()),
    close: async () =>
      void (await Promise.all(
        [...toCluster, ...all.flatMap(({ toServer, toDatabase }) => [toServer, toDatabase])].map((link) =>
          link.close(),
        ),
      )),
  }
}
