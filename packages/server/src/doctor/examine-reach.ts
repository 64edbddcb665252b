/** Whether the addresses that this server needs can be reached from here. Sends no credential and no prompt. */
import { connect, isIP } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { count } from '@svc/contract/count'
import { type Finding, good, missing, weak } from '@svc/sandbox'
import type { Config } from '../config.ts'
import type { Deps } from '../deps.ts'
import { modelCatalog } from '../model-catalog/catalog.ts'
import { upstreamsOf } from '../models/upstreams/upstreams.ts'
import { repositoryUrls } from './store.ts'

const reachMs = 5_000
const dayMs = 86_400_000
const renewDays = 14

export async function examineModel(deps: Pick<Deps, 'config' | 'db'>): Promise<Finding> {
  const { source, url, names } = await modelCatalog(deps)
  // As after an installation, which is no failure: sessions start, and the tour works.
  if (source === 'none' || url === null)
    return weak('model', 'none is set, so no agent can work', 'Set one in the dashboard: Model in the account menu.')
  const listed = names.slice(0, 3).join(', ') + (names.length > 3 ? ` and ${names.length - 3} more` : '')
  const failure = await reach(new URL(url))
  const shown = withoutCredential(url)
  // A call with the key would cost tokens. The last ones of agents since the start of this server tell enough.
  const [refused] = upstreamsOf(deps.config).refusing()
  if (refused !== undefined)
    return missing(
      'model',
      `${withoutCredential(refused.url)} refused the last call of this server (status ${refused.status}): its key is wrong, or missing`,
      source === 'saved'
        ? 'Set a valid key in the dashboard: Model in the account menu.'
        : 'Correct the key in the file of SVC_LLM_UPSTREAMS_FILE, or set SVC_LLM_UPSTREAM_KEY and restart the server.',
    )
  if (failure === null) return good('model', `${listed} at ${shown}, which can be reached`)
  return missing(
    'model',
    `${shown} cannot be reached: ${failure}`,
    'Check the address, the network and a proxy in between.',
  )
}

/** The other parts of a URL may have one. */
function withoutCredential(url: string): string {
  return new URL(url).origin + new URL(url).pathname
}

export async function examineHosts({ db }: Pick<Deps, 'db'>): Promise<Finding[]> {
  return Promise.all(
    (await repositoryUrls(db)).map(async (text) => {
      const url = new URL(text)
      const failure = await reach(url)
      if (failure === null) return good(url.host, 'can be reached')
      return weak(
        url.host,
        `cannot be reached: ${failure}`,
        'Its projects wait for it; reading and sessions use the mirror.',
      )
    }),
  )
}

/** Null when the address of the pages has no TLS. */
export async function examineCertificate({ publicUrl }: Pick<Config, 'publicUrl'>): Promise<Finding | null> {
  const url = new URL(publicUrl)
  if (url.protocol !== 'https:') return null
  const found = await certificateEnd(url).catch((error: Error) => error)
  if (found instanceof Error)
    return weak(
      'certificate',
      `${url.host} was not reached: ${found.message}`,
      'From here, clients may still reach it.',
    )
  const days = Math.floor((found.getTime() - Date.now()) / dayMs)
  const says = days < 0 ? `that of ${url.host} has ended` : `that of ${url.host} ends in ${count(days, 'day')}`
  if (days < 0) return missing('certificate', says, 'Renew it.')
  return days < renewDays ? weak('certificate', says, 'Renew it.') : good('certificate', says)
}

const portOf = ({ port, protocol }: URL) =>
  port !== '' ? Number(port) : protocol === 'http:' ? 80 : protocol === 'ssh:' ? 22 : 443

const hostOf = ({ hostname }: URL) => hostname.replace(/^\[|\]$/g, '')

/** Null when something accepts a connection; otherwise why not. */
function reach(url: URL): Promise<string | null> {
  return new Promise((done) => {
    const socket = connect({ host: hostOf(url), port: portOf(url), timeout: reachMs })
    const end = (failure: string | null) => {
      socket.destroy()
      done(failure)
    }
    socket.once('connect', () => end(null))
    socket.once('timeout', () => end(`no answer in ${reachMs / 1000} s`))
    socket.once('error', (error) => end(error.message))
  })
}

function certificateEnd(url: URL): Promise<Date> {
  return new Promise((done, fail) => {
    const host = hostOf(url)
    // The end of a certificate that is not trusted from here counts as well.
    const socket = connectTls({
      host,
      ...(isIP(host) === 0 ? { servername: host } : {}),
      port: portOf(url),
      timeout: reachMs,
      rejectUnauthorized: false,
    })
    socket.once('secureConnect', () => {
      const { valid_to: end } = socket.getPeerCertificate()
      socket.destroy()
      done(new Date(end))
    })
    socket.once('timeout', () => socket.destroy(new Error(`no answer in ${reachMs / 1000} s`)))
    socket.once('error', fail)
  })
}
