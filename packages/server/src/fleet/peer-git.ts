/**
 * The entry at which another server reads the whole repository of a project with git: every ref, hidden ones too, and
 * commits by their ids. Only servers of this database can sign the pass that it takes.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { mkdir, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { ServiceError } from '@svc/contract'
import {
  type CopyManifest,
  fetchCopy,
  parseCopyManifest,
  readCopyManifest,
  serveGitRequest,
  storeBytes,
} from '@svc/git'
import type { Deps } from '../deps.ts'
import type { App } from '../http/mount.ts'
import { replyError } from '../http/reply-error.ts'
import { whyNotToMove } from '../projects/replicas/earlier-disk.ts'
import { managedDir, mirrorDir } from '../projects/repository.ts'
import { getProjectOrDeleted, type ProjectRow } from '../projects/store.ts'
import { rootsOf } from '../storage/root-queries.ts'
import { certifiedAddress, fetchTrust } from './peer-tls.ts'
import type { Peer } from './store.ts'

const base = '/v1/peer/projects/:projectId'
const services = { 'git/info/refs': 'GET', 'git/git-upload-pack': 'POST', manifest: 'GET' } as const
/** For clocks that differ by a minute, and a negotiation of a large repository. */
const passMsMax = 10 * 60_000
const manifestMsMax = 60_000

type PeerDeps = Pick<
  Deps,
  'db' | 'config' | 'disk' | 'keyring' | 'now' | 'peerTls' | 'serverName' | 'log' | 'redaction'
>

export function storedDir(deps: Pick<Deps, 'config'>, { managed, project_id }: ProjectRow): string {
  return managed ? managedDir(deps, project_id) : mirrorDir(deps, project_id)
}

/** The pass is the password of HTTP Basic, which is what git can send. */
function passFor(deps: Pick<Deps, 'keyring'>, of: { to: string; projectId: string; at: number }): string {
  const text = JSON.stringify([of.to, of.projectId, of.at])
  const mac = createHmac('sha256', deps.keyring.derive('copies between servers')).update(text).digest('base64url')
  return `${of.at}.${mac}`
}

function isPass(deps: PeerDeps, projectId: string, authorization: string): boolean {
  const given = Buffer.from(/^Basic ([A-Za-z0-9+/=]{1,512})$/.exec(authorization)?.[1] ?? '', 'base64').toString(
    'latin1',
  )
  const at = Number(/^peer:(\d{1,16})\.[\w-]{43}$/.exec(given)?.[1] ?? Number.NaN)
  if (!(Math.abs(deps.now().getTime() - at) < passMsMax)) return false
  const expected = Buffer.from(`peer:${passFor(deps, { to: deps.serverName, projectId, at })}`)
  return expected.length === given.length && timingSafeEqual(expected, Buffer.from(given, 'latin1'))
}

/** Registered before everything that judges users: the caller is a server, at the address of this one. */
export function peerGitRoutes(app: App, deps: PeerDeps): void {
  for (const path of Object.keys(services) as (keyof typeof services)[])
    app.on(services[path], `${base}/${path}`, async (c) => {
      const about = { id: c.get('requestId'), method: c.req.method, path: c.req.path }
      try {
        const projectId = c.req.param('projectId')
        if (!isPass(deps, projectId, c.req.header('authorization') ?? ''))
          throw new ServiceError('forbidden', 'Only another server of this database may read whole repositories.')
        const project = await getProjectOrDeleted(deps.db, projectId)
        if (project === null) throw new ServiceError('not_found', 'There is no such project.')
        const dir = storedDir(deps, project)
        if (path === 'manifest') return Response.json(await describe(deps, project, dir))
        const { headers, body, signal } = c.req.raw
        const asked = { method: c.req.method, query: new URL(c.req.url).searchParams, headers, body, signal }
        return await serveGitRequest(
          { dir, remote: null, group: project.account_id },
          { ...asked, path: path === 'git/info/refs' ? 'info/refs' : 'git-upload-pack' },
          () => 'This entry is read-only.',
          { isWhole: true },
        )
      } catch (error) {
        return replyError(error, about, deps)
      }
    })
}

/** Describes what a move copies. A server of an earlier version takes a manifest that is null for a repository that is not here. */
async function describe(deps: PeerDeps, project: ProjectRow, dir: string): Promise<Described<unknown>> {
  const { db, serverName } = deps
  const problem = await whyNotToMove(db, project, { dir, serverName })
  if (problem !== null) return { manifest: null, bytes: 0, problem }
  const manifest = await readCopyManifest(dir, await rootsOf(db, project.project_id))
  return { manifest, bytes: await storeBytes(dir), problem: null }
}

interface Described<Manifest = CopyManifest> {
  manifest: Manifest | null
  bytes: number
  /** Why the repository must not be copied. */
  problem: string | null
}

/** The certificate that git trusts while it fetches into `dir`. */
export const authorityOf = (dir: string) => `${dir}.pem`

/** The repository of a project on another server, as seen from here. */
export class PeerRepository {
  readonly #deps: PeerDeps
  readonly #peer: Peer
  readonly #projectId: string

  constructor(deps: PeerDeps, { peer, projectId }: { peer: Peer; projectId: string }) {
    this.#deps = deps
    this.#peer = peer
    this.#projectId = projectId
  }

  /** Null: that server has no repository of the project, such as a mirror that was never fetched. */
  async manifest(signal: AbortSignal): Promise<CopyManifest | null> {
    return (await this.describe(signal)).manifest
  }

  /** With the size of its objects. A server of an earlier version does not say it (0), and knows of no problem. */
  async describe(signal: AbortSignal): Promise<Described> {
    const { username, password } = this.#credential()
    const headers = { authorization: `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}` }
    const late = AbortSignal.timeout(manifestMsMax)
    const answer = await fetch(`${this.#peer.peer_url.replace(/\/$/, '')}${this.#path}/manifest`, {
      headers,
      signal: AbortSignal.any([signal, late]),
      ...fetchTrust(this.#deps.peerTls, this.#peer),
    })
    if (!answer.ok) throw new Error(`${this.#peer.server_name} answered ${answer.status} to a request for a copy.`)
    const { manifest, bytes = 0, problem = null } = (await answer.json()) as Partial<Described<unknown>>
    if (manifest === null) return { manifest, bytes, problem }
    const parsed = parseCopyManifest(manifest)
    if (parsed === null) throw new Error(`${this.#peer.server_name} sent no list of refs.`)
    return { manifest: parsed, bytes, problem }
  }

  async fetchInto(dir: string, manifest: CopyManifest, signal: AbortSignal) {
    const { peerTls } = this.#deps
    const isEncrypted = peerTls !== null && peerTls.trust(this.#peer) !== null
    if (!isEncrypted) {
      const url = `${this.#peer.peer_url.replace(/\/$/, '')}${this.#path}/git`
      const from = () => ({ url, credential: this.#credential(), allowProtocols: ['http'] })
      return fetchCopy(dir, from, manifest, { signal })
    }
    const { url, addresses } = await certifiedAddress(this.#peer)
    const authority = authorityOf(dir)
    await mkdir(dirname(authority), { recursive: true })
    await peerTls.writeAuthority(authority)
    try {
      const place = { url: `${url}${this.#path}/git`, pin: addresses, allowProtocols: ['https'] }
      const from = () => ({ ...place, credential: this.#credential() })
      return await fetchCopy(dir, from, manifest, { signal, config: [['http.sslCAInfo', authority]] })
    } finally {
      await rm(authority, { force: true })
    }
  }

  get #path(): string {
    return `/v1/peer/projects/${this.#projectId}`
  }

  #credential(): { username: string; password: string } {
    const { server_name: to } = this.#peer
    const password = passFor(this.#deps, { to, projectId: this.#projectId, at: this.#deps.now().getTime() })
    return { username: 'peer', password }
  }
}
