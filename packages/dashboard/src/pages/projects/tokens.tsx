import { api, reply } from '../../api.ts'
import { useProject } from '../../components/shell/project-shell.tsx'
import { useWriteRefusal } from '../../components/role.ts'
import { Tokens } from '../../components/tokens.tsx'
import { projectTokens } from './queries.ts'
import { Page } from '../../ui/page.tsx'

export function ProjectTokensPage() {
  const { project_id: projectId, account_id: accountId, slug } = useProject()
  return (
    <Page title="Project tokens">
      <Tokens
        list={projectTokens(projectId)}
        command={`svc tokens create --name ci --project ${slug}`}
        refusal={useWriteRefusal(accountId)}
        mint={(body) =>
          reply(api.POST('/v1/projects/{projectId}/cli-token', { params: { path: { projectId } }, body }))
        }
        revoke={(tokenId) =>
          reply(
            api.DELETE('/v1/projects/{projectId}/cli-token/{tokenId}', { params: { path: { projectId, tokenId } } }),
          )
        }
      />
    </Page>
  )
}
