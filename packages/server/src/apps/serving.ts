import type { WorkloadDaemon } from '../sandboxes/workload-daemon.ts'

/** A sandbox of this server that answers the requests to an app. */
export interface Serving {
  deployId: string
  sandboxId: string
  daemon: WorkloadDaemon
  port: number
  /** Requests in flight: a sandbox that is replaced ends after them. */
  open: number
}
