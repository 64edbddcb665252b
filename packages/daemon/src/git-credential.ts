/**
 * `svc-agent git-credential <get|store|erase>`: git asks it for the password of the session's remote. The credential is
 * fetched at that moment and lives for minutes, so there is none to steal from the sandbox's files.
 */

export interface CredentialInput {
  operation: string | undefined
  /** git's request: lines of name=value. */
  request: string
  env: Record<string, string | undefined>
}

/** What to print for git; empty leaves git without a password, which then fails and says so. */
export async function answerGitCredential(input: CredentialInput): Promise<string> {
  const { env } = input
  // store and erase are git telling us how it went; there is nothing to keep.
  if (input.operation !== 'get') return ''
  const wanted = Object.fromEntries(
    input.request.split('\n').flatMap((line) => {
      const equals = line.indexOf('=')
      return equals === -1 ? [] : [[line.slice(0, equals), line.slice(equals + 1)]]
    }),
  ) as Record<string, string>
  const { SVC_REPO_URL: repoUrl, SVC_API_URL: apiUrl, SVC_PROJECT_ID: projectId, SVC_TOKEN: token } = env
  if (!repoUrl || !apiUrl || !projectId || !token)
    throw new Error('The sandbox has no repository to give a credential for.')
  if (!isSessionRemote(repoUrl, wanted)) return ''

  const url = `${apiUrl.replace(/\/+$/, '')}/projects/${encodeURIComponent(projectId)}/git/clone-credential`
  const reply = await fetch(url, {
    headers: { authorization: `Bearer ${token}` },
    redirect: 'error',
    signal: AbortSignal.timeout(15_000),
  })
  if (!reply.ok) throw new Error(`The service gave no clone credential: ${reply.status} ${await reason(reply)}`)
  const { auth } = (await reply.json()) as { auth?: { username?: unknown; token?: unknown } }
  const username = plain(auth?.username)
  const password = plain(auth?.token)
  return `username=${username}\npassword=${password}\n`
}

function isSessionRemote(repoUrl: string, wanted: Record<string, string>): boolean {
  const remote = new URL(repoUrl)
  const sameHost = `${wanted['protocol']}:` === remote.protocol && wanted['host'] === remote.host
  const path = wanted['path']
  return sameHost && (path === undefined || path.replace(/^\/+/, '') === remote.pathname.replace(/^\/+/, ''))
}

/** A line break in a value would be another line of the protocol. */
function plain(value: unknown): string {
  if (typeof value !== 'string' || value === '' || /[\r\n\0]/.test(value)) {
    throw new Error('The service answered with a credential that git cannot take.')
  }
  return value
}

async function reason(reply: Response): Promise<string> {
  const body = (await reply.json().catch(() => null)) as { error?: unknown } | null
  return typeof body?.error === 'string' ? body.error : ''
}
