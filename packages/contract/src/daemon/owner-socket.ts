/** The unix socket by which `svc self-host` reaches the server of this machine: mode 0600, in the data folder. */
export const ownerSocketName = 'owner.sock'
/** POST makes a sign-in link. */
export const ownerSocketPath = '/owner-link'
/** GET returns the server that uses the data folder. */
export const serverInfoPath = '/server'
/** POST ends the server, and its sessions with it. */
export const stopWithSessionsPath = '/stop-with-sessions'

/** A file of the data folder that records that the first start asked for a model. */
export const modelQuestionName = 'model-question'

export interface OwnerLink {
  url: string
  expires_at: string
}

export interface ServerInfo {
  pid: number
  url: string
  data_dir: string
}
