import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Failure } from '../../components/failure.tsx'
import { paths } from '../../paths.ts'
import { projects } from '../../queries.ts'
import { Card, Empty, Row, Rows } from '../../ui/card.tsx'
import { Loading } from '../../ui/loading.tsx'

export function ProjectsPage() {
  const list = useQuery(projects)
  if (list.isPending) return <Loading what="your projects" />
  if (list.isError) return <Failure error={list.error} retry={() => void list.refetch()} />
  return (
    <div className="flex flex-col gap-6">
      <h1 className="text-xl font-semibold">Projects</h1>
      <Card>
        {list.data.length === 0 ? (
          <Empty>No project yet.</Empty>
        ) : (
          <Rows label="Projects">
            {list.data.map((project) => (
              <Row key={project.project_id}>
                <span className="min-w-0 flex-1">
                  <Link
                    to={paths.changeRequests}
                    params={{ project: project.slug }}
                    className="font-medium hover:underline"
                  >
                    {project.name}
                  </Link>
                  <span className="block text-sm text-dim">
                    {project.managed ? 'managed repository' : project.repo_url} · {project.default_branch}
                  </span>
                </span>
              </Row>
            ))}
          </Rows>
        )}
      </Card>
    </div>
  )
}
