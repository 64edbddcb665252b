import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { QueryResult } from '../../components/query-result.tsx'
import { paths } from '../../paths.ts'
import { me } from '../account/queries.ts'
import { type Project, projects } from './queries.ts'
import { buttonClass } from '../../ui/button.tsx'
import { Card, Empty, Row, Rows } from '../../ui/card.tsx'
import { DeletedProjects } from './deleted.tsx'

export function ProjectsPage() {
  const list = useQuery(projects)
  const account = useQuery(me).data?.account
  return (
    <div className="flex flex-col gap-6">
      <div className="flex flex-wrap items-center justify-between gap-2">
        <h1 className="text-xl font-semibold">Projects</h1>
        <Link to={paths.newProject} className={buttonClass()}>
          New project
        </Link>
      </div>
      <QueryResult of={list} what="your projects">
        {(all) => (
          <Card>
            {ofAccount(all, account).length === 0 ? (
              <Empty>No projects yet. Create one from a git repository, or let svc host a new one.</Empty>
            ) : (
              <Rows label="Projects">
                {ofAccount(all, account).map((project) => (
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
      </QueryResult>
      <DeletedProjects account={account} />
    </div>
  )
}

const ofAccount = (all: Project[], account: { account_id: string } | undefined) =>
  all.filter(({ account_id }) => account === undefined || account_id === account.account_id)
