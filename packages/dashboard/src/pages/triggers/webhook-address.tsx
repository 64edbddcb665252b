import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useProject } from '../../components/shell/project-shell.tsx'
import { paths } from '../../paths.ts'
import { secrets } from '../projects/queries.ts'
import { Command } from '../../ui/text.tsx'
import { Notice } from '../../ui/layout.tsx'

export function WebhookAddress({ url, secretEnv }: { url: string | null; secretEnv: string | null }) {
  const { project_id: projectId, slug: project } = useProject()
  const { data } = useQuery(secrets(projectId))
  if (url === null) return null
  const isMissing = secretEnv !== null && data !== undefined && !data.items.some(({ name }) => name === secretEnv)
  return (
    <>
      {isMissing && (
        <Notice tone="warn" title={`Calls are rejected because the secret ${secretEnv} is not set`}>
          <Link to={paths.secrets} params={{ project }} className="text-accent underline">
            Set the secret
          </Link>
        </Notice>
      )}
      <Command>{url}</Command>
      {secretEnv !== null && (
        <details>
          <summary className="cursor-pointer text-dim">
            Calls must be signed with the secret <code className="font-mono">{secretEnv}</code>. Show a sample call
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
