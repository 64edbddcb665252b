/** The setting that a sandbox of an app, a check or the warm pool keeps, and that the next server applies. */
export interface EgressInForce {
  /** Null: the default list. */
  egress: string[] | null
}
