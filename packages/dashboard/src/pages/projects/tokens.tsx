import { NamedSessionLink } from '../../components/links.tsx'
import { useSend } from '../../components/requests.tsx'
import { useProject } from '../../components/shell/project-shell.tsx'
import { useWriteRefusal } from '../../components/role.ts'
import { Tokens } from '../../components/tokens.tsx'
import { projectTokens } from './queries.ts'
import { Page } from '../../ui/layout.tsx'

export function ProjectTokensPage() {
  const { project_id: projectId, account_id: accountId, slug } = useProject()
  const list = projectTokens(projectId)
  const refetch = [list.queryKey]
  const mint = useSend('POST', '/v1/projects/{projectId}/cli-token', { path: { projectId }, refetch })
  const ofToken = (tokenId: string) => ({ path: { projectId, tokenId } })
  const revoke = useSend('DELETE', '/v1/projects/{projectId}/cli-token/{tokenId}', { request: ofToken, refetch })
  return (
    <Page title="Project tokens">
      <Tokens
        list={list}
        command={`svc tokens create --name ci --project ${slug}`}
        refusal={useWriteRefusal(accountId)}
        mint={mint}
        revoke={revoke}
        session={(sessionId) => <NamedSessionLink sessionId={sessionId} />}
      />
    </Page>
  )
}
