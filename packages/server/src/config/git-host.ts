import type { Settings } from './settings.ts'

/** A host's name in lower case, with its port if it has one, and the operator's token for it; both or neither have to be set. */
export function readGitHost(settings: Settings) {
  const [host, token] = [settings.text('SVC_GIT_HOST'), settings.text('SVC_GIT_HOST_TOKEN')]
  if (host === null && token === null) return null
  if (host === null || token === null) {
    settings.problem(
      ['SVC_GIT_HOST', 'SVC_GIT_HOST_TOKEN'],
      'SVC_GIT_HOST and SVC_GIT_HOST_TOKEN go together: set both or none.',
    )
    return null
  }
  if (!/^[a-z0-9.-]+(:\d{1,5})?$/i.test(host))
    settings.refuse('SVC_GIT_HOST', 'must be the name of a host, such as github.com')
  return { host: host.toLowerCase(), username: settings.text('SVC_GIT_HOST_USERNAME'), token }
}

/** Folders whose repositories may be used by path; `owned`: every repository that the server's user owns. */
export type FileRepositories = { roots: readonly string[] | 'owned' } | null

/** By default a personal machine allows what its user owns, and a shared server allows nothing. */
export function readFileRepositories(settings: Settings, isOwnMachine: boolean): FileRepositories {
  const text = settings.text('SVC_FILE_REPOSITORY_ROOTS')
  if (text === null) return isOwnMachine ? { roots: 'owned' } : null
  const roots = text.split(':').filter((root) => root !== '')
  for (const root of roots)
    if (!root.startsWith('/') || root === '/')
      settings.problem(
        ['SVC_FILE_REPOSITORY_ROOTS'],
        `SVC_FILE_REPOSITORY_ROOTS must list absolute folders below /, separated by colons, but has ${JSON.stringify(root)}.`,
      )
  return roots.length === 0 ? null : { roots }
}
