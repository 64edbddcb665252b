/** The network between servers, and between each of them and PostgreSQL or a cluster, whose links can be cut. */
export interface Host {
  /** Its network namespace, as /proc names it. Null: it has none of its own. */
  namespace: string | null
  /** Before the command of a program that is to run there. */
  around: string[]
  /** What the program listens on; then how the balancer, and the other servers, reach it. */
  listens: string
  frontUrl: string
  /** PostgreSQL, as it reaches it. */
  databaseUrl: string
  peerUrl: string
}

/** Two servers by their numbers, or a server and PostgreSQL or the API of the cluster. `ways`: the packets of one side only, or of both. */
export interface Cut {
  between: [number, number | 'database' | 'cluster']
  ways: 'both' | 'there'
}

export interface Network {
  /** Settings of PostgreSQL for it to be reached. */
  postgres: Record<string, string>
  hosts: Host[]
  /** Called with the address of PostgreSQL once it runs. */
  reach(databaseUrl: string): void
  /** Makes the API of a cluster, which listens on this Unix socket, reachable: `address:port` for each server. */
  reachCluster(socket: string): Promise<string[]>
  cut(cuts: Cut[]): Promise<void>
  heal(cuts: Cut[]): Promise<void>
  close(): Promise<void>
}
