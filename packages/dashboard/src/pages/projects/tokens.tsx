import { api, reply } from '../../api.ts'
import { useProject } from '../../components/project-shell.tsx'
import { Tokens } from '../../components/tokens.tsx'
import { projectTokens } from '../../queries.ts'

export function ProjectTokensPage() {
  const { project_id: projectId } = useProject()
  return (
    <div className="flex flex-col gap-6">
      <h1 className="text-xl font-semibold">Tokens of the project</h1>
      <Tokens
        list={projectTokens(projectId)}
        mint={(name) =>
          reply(api.POST('/v1/projects/{projectId}/cli-token', { params: { path: { projectId } }, body: { name } }))
        }
        revoke={(tokenId) =>
          reply(
            api.DELETE('/v1/projects/{projectId}/cli-token/{tokenId}', { params: { path: { projectId, tokenId } } }),
          )
        }
      />
    </div>
  )
}
