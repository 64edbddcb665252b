/** Which hosts a sandbox may reach: the patterns of `[sandbox] egress` in `svc.toml` and of the operator's SVC_EGRESS. Loads no zod. */

/** Where package managers download from. A name for the whole list, so that a project adds to it without copying it. */
export const packagesPreset = '@packages'
export const egressPatternsMax = 200

/** Only hosts that hand out packages: on none of them can a stranger's leaked secret be left without an account of its own. */
const packageHosts = [
  ...['registry.npmjs.org', 'registry.yarnpkg.com', 'npm.jsr.io', 'jsr.io', 'deno.land'],
  ...['pypi.org', 'files.pythonhosted.org'],
  ...['crates.io', 'index.crates.io', 'static.crates.io', 'static.rust-lang.org'],
  ...['proxy.golang.org', 'sum.golang.org'],
  ...['rubygems.org', 'index.rubygems.org'],
  ...['repo.maven.apache.org', 'repo1.maven.org', 'plugins.gradle.org', 'services.gradle.org'],
  ...['repo.packagist.org', 'api.nuget.org', 'hex.pm', 'repo.hex.pm'],
  ...['nodejs.org', 'deb.debian.org', 'security.debian.org', 'archive.ubuntu.com', 'security.ubuntu.com'],
]

/** What a project that says nothing gets. */
export const defaultEgress: readonly string[] = [packagesPreset]

export interface EgressRule {
  /** `*` is every host. */
  host: string
  /** The names below `host`, and not `host` itself. */
  below: boolean
  /** Null: 443 and 80. */
  port: number | null
}

const label = '[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?'
const hostPattern = new RegExp(`^(?=.{1,253}$)${label}(?:\\.${label})*$`)
const portsByDefault = [443, 80]

/** The rules a pattern stands for, or why it is none, to be read after the pattern itself. */
export function parseEgressPattern(pattern: string): EgressRule[] | string {
  if (pattern === packagesPreset) return packageHosts.map((host) => ({ host, below: false, port: null }))
  if (pattern.startsWith('@')) return `is no list of hosts: there is only ${packagesPreset}`
  if (/^[a-z]+:\/\//i.test(pattern)) return 'is an address: write the host alone, and a port after it if need be'
  const [, name = '', portText] = /^(\[[0-9a-fA-F:.]+\]|[^:]+)(?::([^:]*))?$/.exec(pattern) ?? []
  const port = portText === undefined ? null : portOf(portText)
  if (Number.isNaN(port)) return 'has a port that is none'
  if (name === '*') return [{ host: '*', below: false, port }]
  const below = name.startsWith('*.')
  const host = egressHost(below ? name.slice(2) : name)
  if (host === null || host.includes('*'))
    return 'is no host: write host, *.host or *, and :port if it is not 443 or 80'
  return [{ host, below, port }]
}

/** One spelling per host: lower case, no final dot, no brackets. Null when it is none. */
export function egressHost(text: string): string | null {
  const host = text
    .toLowerCase()
    .replace(/^\[([0-9a-f:.]+)\]$/, '$1')
    .replace(/\.$/, '')
  if (host.includes(':')) return /^[0-9a-f:.]{2,45}$/.test(host) ? host : null
  if (!hostPattern.test(host)) return null
  // The last part of a name is never a number, and what looks like an address has to be one: 127.1 and 0x7f000001 are
  // spellings of an address that only some programs know.
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
