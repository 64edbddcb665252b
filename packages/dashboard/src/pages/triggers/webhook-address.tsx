import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useProject } from '../../components/project-shell.tsx'
import { paths } from '../../paths.ts'
import { secrets } from '../../queries.ts'
import { Command } from '../../ui/copy.tsx'
import { Notice } from '../../ui/notice.tsx'

/** Where a sender calls, with what it signs, and a call to try it with. */
export function WebhookAddress({ url, secretEnv }: { url: string | null; secretEnv: string | null }) {
  const { project_id: projectId, slug: project } = useProject()
  const { data } = useQuery(secrets(projectId))
  if (url === null) return null
  const isMissing = secretEnv !== null && data !== undefined && !data.items.some(({ name }) => name === secretEnv)
  return (
    <>
      {isMissing && (
        <Notice tone="warn" title={`The secret ${secretEnv} is not set, so no call is taken.`}>
          <Link to={paths.secrets} params={{ project }} className="text-accent underline">
            Set it
          </Link>
        </Notice>
      )}
      <Command>{url}</Command>
      {secretEnv !== null && (
        <details>
          <summary className="cursor-pointer text-dim">
            A call is signed with the secret <code className="font-mono">{secretEnv}</code>; try it
          </summary>
          <div className="mt-1">
            <Command>{signedCall(url, secretEnv)}</Command>
          </div>
        </details>
      )}
    </>
  )
}

function signedCall(url: string, secretEnv: string): string {
  return [
    `body='{"text":"hello"}'`,
    `signature=$(printf %s "$body" | openssl dgst -sha256 -hmac "$${secretEnv}" | sed 's/.* //')`,
    `curl --data "$body" -H "X-Svc-Signature: sha256=$signature" ${url}`,
  ].join('\n')
}
