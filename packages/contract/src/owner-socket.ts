/** Where `svc self-host owner-link` finds the server of this machine: a unix socket of mode 0600 in the data folder. */
export const ownerSocketName = 'owner.sock'
/** The one path it answers. */
export const ownerSocketPath = '/owner-link'

export interface OwnerLink {
  url: string
  expires_at: string
}
