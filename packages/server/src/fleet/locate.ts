/** Reads from the head of a request which project it concerns. Whatever names none is answered by any server. */
import type { IncomingMessage } from 'node:http'
import { mcpGatewayPath, mcpProjectHeader, modelGatewayPath } from '@svc/contract'
import { isUuid } from '../auth/allow.ts'
import type { Config } from '../config.ts'
import { labelOf } from '../http/admission/other-origin.ts'

export type Located =
  | { kind: 'project'; id: string }
  /** Of one of the accounts of the caller. */
  | { kind: 'slug'; slug: string }
  /** The id of a session or of a sandbox. */
  | { kind: 'sandbox'; id: string }
  | { kind: 'app'; label: string }
  | { kind: 'credential'; token: string }
  /** Makes a project, which has no home yet. */
  | { kind: 'new project' }

type Head = Pick<IncomingMessage, 'url' | 'method' | 'headers' | 'rawHeaders'>

export const inPath = {
  project: /^\/v1\/(?:projects|channels\/slack)\/([^/?#]+)/,
  sandbox: /^\/v1\/(?:sandboxes|p)\/([^/?#]+)\//,
  newProject: /^\/v1\/projects\/?(?:[?#]|$)/,
}

export function locate(config: Pick<Config, 'publicUrl' | 'previewDomain'>, request: Head): Located | null {
  const label = labelOf(config, request as IncomingMessage)
  if (label !== null) return byLabel(label)
  const url = routedPath(request.url)
  const project = inPath.project.exec(url)?.[1]
  if (project !== undefined) return byProject(decoded(project))
  const sandbox = inPath.sandbox.exec(url)?.[1]
  if (sandbox !== undefined) return bySandbox(decoded(sandbox))
  if (isBelow(url, mcpGatewayPath)) {
    const named = request.headers[mcpProjectHeader]
    return typeof named === 'string' ? byProject(named) : byCredential(request)
  }
  if (isBelow(url, modelGatewayPath)) return byCredential(request)
  return request.method === 'POST' && inPath.newProject.test(url) ? { kind: 'new project' } : null
}

/** The path as the router reads it, which is not always as it was sent: with its query, and without escapes and dots. */
export function routedPath(url = ''): string {
  if (/^\/[^%\\]*$/.test(url) && !url.includes('/.')) return url
  const whole = url.startsWith('/') ? `http://server${url}` : url
  if (!URL.canParse(whole)) return url
  const { pathname, search } = new URL(whole)
  return unescaped(pathname) + search
}

function unescaped(path: string): string {
  try {
    return decodeURI(path)
  } catch {
    return path
  }
}

function byLabel(label: string): Located | null {
  const preview = /^[1-9][0-9]{0,4}--([0-9a-f-]{36})$/.exec(label)?.[1]
  return preview === undefined ? { kind: 'app', label } : bySandbox(preview)
}

function byProject(named: string): Located | null {
  if (isUuid(named)) return { kind: 'project', id: named.toLowerCase() }
  return /^[a-z0-9][a-z0-9-]{0,99}$/.test(named) ? { kind: 'slug', slug: named } : null
}

function bySandbox(id: string): Located | null {
  return isUuid(id) ? { kind: 'sandbox', id: id.toLowerCase() } : null
}

function byCredential({ headers }: Head): Located | null {
  const key = headers['x-api-key']
  const token = typeof key === 'string' ? key : /^Bearer (\S+)$/i.exec(headers.authorization?.trim() ?? '')?.[1]
  return token === undefined ? null : { kind: 'credential', token }
}

const isBelow = (url: string, path: string) => url.startsWith(path) && /^(?:[/?#]|$)/.test(url.slice(path.length))

/** The router decodes what it matches. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}
