/**
 * `svc-agent git-credential <get or store or erase>`: returns the password of the session's remote to git. Each call
 * fetches a credential that is valid for minutes, so no file in the sandbox holds one.
 */

interface CredentialInput {
  operation: string | undefined
  /** git's request, as lines of name=value. */
  request: string
  env: Record<string, string | undefined>
}

/** The reply to git. An empty one makes git fail with an error of its own. */
export async function answerGitCredential(input: CredentialInput): Promise<string> {
  const { env } = input
  // store and erase report the outcome; there is nothing to store.
  if (input.operation !== 'get') return ''
  const wanted = Object.fromEntries(
    input.request.split('\n').flatMap((line) => {
      const equals = line.indexOf('=')
      return equals === -1 ? [] : [[line.slice(0, equals), line.slice(equals + 1)]]
    }),
  ) as Record<string, string>
  const { SVC_REPO_URL: repoUrl, SVC_API_URL: apiUrl, SVC_PROJECT_ID: projectId, SVC_TOKEN: token } = env
  if (!repoUrl || !apiUrl || !projectId || !token)
    throw new Error('The sandbox has no repository that needs a credential.')
  if (!isSessionRemote(repoUrl, wanted)) return ''

  const url = `${apiUrl.replace(/\/+$/, '')}/projects/${encodeURIComponent(projectId)}/git/clone-credential`
  const reply = await fetch(url, {
    headers: { authorization: `Bearer ${token}` },
    redirect: 'error',
    signal: AbortSignal.timeout(15_000),
  })
  if (!reply.ok) throw new Error(`The service refused a git credential: ${reply.status} ${await reason(reply)}`)
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

/** A line break in a value would start another line of the protocol. */
function plain(value: unknown): string {
  if (typeof value !== 'string' || value === '' || /[\r\n\0]/.test(value)) {
    throw new Error('The service returned a credential that git cannot use.')
  }
  return value
}

async function reason(reply: Response): Promise<string> {
  const body = (await reply.json().catch(() => null)) as { error?: unknown; hint?: unknown } | null
  return [body?.error, body?.hint].filter((text) => typeof text === 'string').join(' ')
}
