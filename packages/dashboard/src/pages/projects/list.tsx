import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Answer } from '../../components/answer.tsx'
import { paths } from '../../paths.ts'
import { projects } from '../../queries.ts'
import { buttonClass } from '../../ui/button.tsx'
import { Card, Empty, Row, Rows } from '../../ui/card.tsx'

export function ProjectsPage() {
  const list = useQuery(projects)
  return (
    <div className="flex flex-col gap-6">
      <div className="flex flex-wrap items-center justify-between gap-2">
        <h1 className="text-xl font-semibold">Projects</h1>
        <Link to={paths.newProject} className={buttonClass()}>
          New project
        </Link>
      </div>
      <Answer of={list} what="your projects">
        {(all) => (
          <Card>
            {all.length === 0 ? (
              <Empty>No project yet.</Empty>
            ) : (
              <Rows label="Projects">
                {all.map((project) => (
                  <Row key={project.project_id}>
                    <span className="min-w-0 flex-1">
                      <Link
                        to={paths.changeRequests}
                        params={{ project: project.slug }}
                        className="font-medium hover:underline"
                      >
                        {project.name}
                      </Link>
                      <span className="block text-sm break-all text-dim">
                        {project.managed ? 'managed repository' : project.repo_url} · {project.default_branch}
                      </span>
                    </span>
                  </Row>
                ))}
              </Rows>
            )}
          </Card>
        )}
      </Answer>
    </div>
  )
}
