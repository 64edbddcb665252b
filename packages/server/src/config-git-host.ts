export interface GitHostConfig {
  /** Its name, with its port where it has one, in lower case. */
  host: string
  username: string | null
  token: string
}

/** One host and the operator's own token for it; both or none. */
export function readGitHost(env: Record<string, string | undefined>, problems: string[]): GitHostConfig | null {
  const [host, token] = [env.SVC_GIT_HOST || null, env.SVC_GIT_HOST_TOKEN || null]
  if (host === null && token === null) return null
  if (host === null || token === null) {
    problems.push('SVC_GIT_HOST and SVC_GIT_HOST_TOKEN go together: set both or none.')
    return null
  }
  if (!/^[a-z0-9.-]+(:\d{1,5})?$/i.test(host))
    problems.push(`SVC_GIT_HOST has to be the name of a host, such as github.com, but is ${JSON.stringify(host)}.`)
  return { host: host.toLowerCase(), username: env.SVC_GIT_HOST_USERNAME || null, token }
}

/** Folders whose repositories may be used by their path; `owned`: every repository that the server's user owns. */
export type FileRepositories = { roots: readonly string[] | 'owned' } | null

/** Unset on a machine of one's own, what its user owns is open; a shared server opens nothing by itself. */
export function readFileRepositories(
  text: string | undefined,
  isOwnMachine: boolean,
  problems: string[],
): FileRepositories {
  if (!text) return isOwnMachine ? { roots: 'owned' } : null
  const roots = text.split(':').filter((root) => root !== '')
  for (const root of roots)
    if (!root.startsWith('/') || root === '/')
      problems.push(
        `SVC_FILE_REPOSITORY_ROOTS has to be absolute folders below /, separated by colons, but has ${JSON.stringify(root)}.`,
      )
  return roots.length === 0 ? null : { roots }
}
