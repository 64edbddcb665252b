/** The hosts a sandbox may reach: patterns of `[sandbox] egress` in `svc.toml` and of SVC_EGRESS. Loads no zod. */

/** The hosts of package managers. The name stands for the list, so that a project extends it without copying it. */
export const packagesPreset = '@packages'
export const egressPatternsMax = 200

/** Only hosts that serve packages: without an account, none of them stores data, so none can receive a leaked secret. */
const packageHosts = [
  'registry.npmjs.org',
  'registry.yarnpkg.com',
  'npm.jsr.io',
  'jsr.io',
  'deno.land',
  'pypi.org',
  'files.pythonhosted.org',
  'crates.io',
  'index.crates.io',
  'static.crates.io',
  'static.rust-lang.org',
  'proxy.golang.org',
  'sum.golang.org',
  'rubygems.org',
  'index.rubygems.org',
  'repo.maven.apache.org',
  'repo1.maven.org',
  'plugins.gradle.org',
  'services.gradle.org',
  'repo.packagist.org',
  'api.nuget.org',
  'hex.pm',
  'repo.hex.pm',
  'nodejs.org',
  'deb.debian.org',
  'security.debian.org',
  'archive.ubuntu.com',
  'security.ubuntu.com',
]

/** For projects that configure nothing. */
export const defaultEgress: readonly string[] = [packagesPreset]

export interface EgressRule {
  /** `*` is every host. */
  host: string
  /** Matches subdomains of `host`, not `host` itself. */
  below: boolean
  /** Null: 443 and 80. */
  port: number | null
}

const label = '[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?'
const hostPattern = new RegExp(`^(?=.{1,253}$)${label}(?:\\.${label})*$`)
const portsByDefault = [443, 80]

/** The rules of a pattern, or why it is not valid: a text that follows the pattern in a message. */
export function parseEgressPattern(pattern: string): EgressRule[] | string {
  if (pattern === packagesPreset) return packageHosts.map((host) => ({ host, below: false, port: null }))
  if (pattern.startsWith('@')) return `is not a list of hosts: there is only ${packagesPreset}`
  if (/^[a-z]+:\/\//i.test(pattern)) return 'is an address: write the host alone, and a port after it if need be'
  const [, name = '', portText] = /^(\[[0-9a-fA-F:.]+\]|[^:]+)(?::([^:]*))?$/.exec(pattern) ?? []
  const port = portText === undefined ? null : portOf(portText)
  if (Number.isNaN(port)) return 'has a port that is not valid'
  if (name === '*') return [{ host: '*', below: false, port }]
  const below = name.startsWith('*.')
  const host = egressHost(below ? name.slice(2) : name)
  if (host === null || host.includes('*'))
    return 'is not a host: write host, *.host or *, and :port if it is not 443 or 80'
  return [{ host, below, port }]
}

/** Normalizes a host: lower case, no final dot, no brackets. Null when it is not a host. */
export function egressHost(text: string): string | null {
  const host = text
    .toLowerCase()
    .replace(/^\[([0-9a-f:.]+)\]$/, '$1')
    .replace(/\.$/, '')
  if (host.includes(':')) return /^[0-9a-f:.]{2,45}$/.test(host) ? host : null
  if (!hostPattern.test(host)) return null
  // The last label of a name is never a number, and only a complete dotted address is accepted: some programs read 127.1
  // and 0x7f000001 as addresses, too.
  const isDotted = /^(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)$/.test(host)
  return isDotted || !/(?:^|\.)(?:\d+|0x[0-9a-f]*)$/.test(host) ? host : null
}

export function allowsEgress(rules: readonly EgressRule[], host: string, port: number): boolean {
  return rules.some(
    (rule) =>
      (rule.port === null ? portsByDefault.includes(port) : rule.port === port) &&
      (rule.host === '*' || (rule.below ? host.endsWith(`.${rule.host}`) : host === rule.host)),
  )
}

function portOf(text: string): number {
  const port = /^[1-9]\d{0,4}$/.test(text) ? Number(text) : Number.NaN
  return port <= 65_535 ? port : Number.NaN
}
