import { useQuery } from '@tanstack/react-query'
import { Failure, useSend } from '../../components/requests.tsx'
import { deletedProjects, type Project } from './queries.ts'
import { Button } from '../../ui/form.tsx'
import { Card, Row, Rows } from '../../ui/layout.tsx'

export function DeletedProjects({ account }: { account: { account_id: string } | undefined }) {
  const all = useQuery(deletedProjects).data ?? []
  const shown = all.filter(({ account_id }) => account === undefined || account_id === account.account_id)
  if (shown.length === 0) return null
  return (
    <Card title="Deleted projects">
      <Rows label="Deleted projects">
        {shown.map((project) => (
          <Deleted key={project.project_id} project={project} />
        ))}
      </Rows>
    </Card>
  )
}

function Deleted({ project }: { project: Project }) {
  const path = { projectId: project.project_id }
  const restore = useSend('POST', '/v1/projects/{projectId}/restore', { path, refetch: [['projects']] })
  return (
    <Row>
      <span className="min-w-0 flex-1">
        <span className="font-medium">{project.name}</span>
        <span className="block text-sm break-all text-dim">
          {project.slug} · can be restored until {project.purge_at?.slice(0, 10)}
        </span>
        {restore.error !== null && <Failure error={restore.error} />}
      </span>
      <Button aria-label={`Restore ${project.name}`} action={restore}>
        Restore
      </Button>
    </Row>
  )
}
