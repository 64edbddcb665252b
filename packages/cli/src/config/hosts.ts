/** The known servers, the one a command uses, and the token that may be sent there. */
import { cloudUrl, internalUrl } from './build-values.ts'
import type { Config } from './config-file.ts'
import { Refusal, UsageError } from '../errors.ts'
import type { Io } from '../io.ts'
import type { Link } from './link-file.ts'
import { closest } from '@svc/contract/schemas/closest'

export const builtInNames = ['cloud', 'selfhost', 'local-dev', 'internal-dev'] as const
export const defaultHost = 'selfhost'
const hostName = /^[a-z0-9][a-z0-9.-]{0,62}$/

export interface Host {
  name: string
  /** Without `/v1`; null when this build lacks the host. */
  base: string | null
  origin: string | null
  builtIn: boolean
}

/** The source of the choice decides which tokens may be sent. */
type HostSource = 'flag' | 'environment' | 'link' | 'active'
export interface ChosenHost {
  name: string
  base: string
  origin: string
  source: HostSource
}

type Env = Io['env']

/** Built-in hosts first. An added host with a built-in's name replaces its URL. */
export function knownHosts(config: Config, env: Env): Host[] {
  const builtIns: Record<(typeof builtInNames)[number], string | null> = {
    cloud: cloudUrl,
    selfhost: 'http://127.0.0.1:8420',
    'local-dev': `http://127.0.0.1:${/^\d{1,5}$/.test(env.SVC_PORT ?? '') ? env.SVC_PORT : '8420'}`,
    'internal-dev': internalUrl,
  }
  const host = (name: string, url: string | null): Host => ({
    name,
    base: url === null ? null : parseHostUrl(url, `The URL of host ${name}`),
    origin: url === null ? null : new URL(url).origin,
    builtIn: name in builtIns,
  })
  return [
    ...builtInNames.map((name) => host(name, addedUrl(config, name) ?? builtIns[name])),
    ...Object.keys(config.hosts)
      .filter((name) => !(name in builtIns))
      .map((name) => host(name, config.hosts[name]!.url)),
  ]
}

export function activeHostName(config: Config): string {
  return config.active_host ?? defaultHost
}

/** `--host`, then SVC_API_URL, then the link file, then the active host. */
export function chooseHost(options: {
  flag?: string | undefined
  env: Env
  link: Link | null
  config: Config
}): ChosenHost {
  const { flag, env, link, config } = options
  const hosts = knownHosts(config, env)
  if (flag !== undefined) return chosen(findHost(hosts, flag), 'flag')
  if (env.SVC_API_URL) return atUrl(hosts, env.SVC_API_URL, 'environment', 'SVC_API_URL')
  if (link?.host_url || link?.host) return linkedHost(hosts, link)
  return chosen(findHost(hosts, activeHostName(config)), 'active')
}

/** A known name always means the known URL, whatever the link file says. */
function linkedHost(hosts: readonly Host[], link: Link): ChosenHost {
  const known = hosts.find((host) => host.name === link.host && host.base !== null)
  if (known !== undefined) return chosen(known, 'link')
  if (link.host_url !== null) return atUrl(hosts, link.host_url, 'link', `host_url of ${link.path}`)
  throw new Refusal('unknown_host', `The link file names an unknown host: ${link.host}`, {
    hint: `${link.path} names it.`,
    next: [`svc hosts add ${link.host} --url <url>`, 'svc projects link'],
  })
}

export function findHost(hosts: readonly Host[], name: string): Host {
  const found = hosts.find((host) => host.name === name)
  if (found !== undefined) return found
  const meant = closest(
    name,
    hosts.map((host) => host.name),
  )
  throw new Refusal('unknown_host', `No host is named ${JSON.stringify(name)}`, {
    hint: meant === null ? null : `Did you mean ${meant}?`,
    next: ['svc hosts ls', `svc hosts add ${hostName.test(name) ? name : '<name>'} --url <url>`],
  })
}

function chosen(host: Host, source: HostSource): ChosenHost {
  if (host.base === null || host.origin === null)
    throw new Refusal('host_not_in_build', `The host ${host.name} is not part of this build`, {
      hint: 'Use another host, or set the URL of this one.',
      next: ['svc hosts ls', `svc hosts add ${host.name} --url <url>`],
    })
  return { name: host.name, base: host.base, origin: host.origin, source }
}

function atUrl(hosts: readonly Host[], url: string, source: HostSource, where: string): ChosenHost {
  const base = parseHostUrl(url, where)
  const { origin, host } = new URL(base)
  return { name: hosts.find((known) => known.base === base)?.name ?? host, base, origin, source }
}

/** URLs are accepted with and without `/v1`. */
export function parseHostUrl(url: string, where = '--url'): string {
  const parsed = URL.canParse(url) ? new URL(url) : null
  const why =
    parsed === null
      ? 'is not a URL'
      : parsed.protocol !== 'http:' && parsed.protocol !== 'https:'
        ? 'is not an http or https URL'
        : parsed.username !== '' || parsed.password !== ''
          ? 'contains a user name or a password'
          : null
  if (parsed === null || why !== null) throw new UsageError(`${where} ${why}: ${url}`)
  return parsed.origin + parsed.pathname.replace(/\/+$/, '').replace(/\/v1$/, '').replace(/\/+$/, '')
}

export function refuseHostName(name: string): string | null {
  return hostName.test(name) ? null : 'A host name must have only lower-case letters, digits, dots and dashes'
}

/**
 * The token for a host, or null. A stored token goes only to its origin. A token from the environment goes only to
 * SVC_API_URL, or to the active host when that is unset: a link file, which may come from an untrusted repository,
 * cannot redirect it.
 */
export function tokenFor(host: ChosenHost, options: { env: Env; config: Config }): string | null {
  const { env, config } = options
  const fromEnvironment = env.SVC_CLI_TOKEN || env.SVC_EXECUTOR_TOKEN
  if (fromEnvironment && host.origin === environmentOrigin(options)) return fromEnvironment
  return Object.hasOwn(config.tokens, host.origin) ? config.tokens[host.origin]!.token : null
}

/** The only origin that receives a token from the environment. */
export function environmentOrigin(options: { env: Env; config: Config }): string | null {
  const { env, config } = options
  if (env.SVC_API_URL) return new URL(parseHostUrl(env.SVC_API_URL, 'SVC_API_URL')).origin
  return knownHosts(config, env).find((host) => host.name === activeHostName(config))?.origin ?? null
}

/** Whether the connection to a remote host is unencrypted. */
export function isUnencrypted(base: string): boolean {
  const { protocol, hostname } = new URL(base)
  return protocol === 'http:' && !/^(localhost|.*\.localhost|127(\.\d+){3}|\[::1\])$/.test(hostname)
}

function addedUrl(config: Config, name: string): string | null {
  return Object.hasOwn(config.hosts, name) ? config.hosts[name]!.url : null
}
