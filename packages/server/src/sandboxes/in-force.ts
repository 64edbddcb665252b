/** The setting that a sandbox of an app or a check keeps, and that the next server applies. */
export interface EgressInForce {
  /** Null: the default list. */
  egress: string[] | null
}
