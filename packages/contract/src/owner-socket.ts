/** Where `svc self-host` finds the server of this machine: a unix socket of mode 0600 in the data folder. */
export const ownerSocketName = 'owner.sock'
/** POST makes a sign-in link. */
export const ownerSocketPath = '/owner-link'
/** GET tells which server uses the data folder. */
export const serverInfoPath = '/server'

export interface OwnerLink {
  url: string
  expires_at: string
}

export interface ServerInfo {
  pid: number
  url: string
  data_dir: string
}
