import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Read } from '../../components/requests.tsx'
import { paths } from '../../paths.ts'
import { me } from '../account/queries.ts'
import { projects } from './queries.ts'
import { buttonClass } from '../../ui/form.tsx'
import { Card, Empty, Page, Row, Rows } from '../../ui/layout.tsx'
import { DeletedProjects } from './deleted.tsx'

export function ProjectsPage() {
  const account = useQuery(me).data?.account
  const newProject = (
    <Link to={paths.newProject} className={buttonClass()}>
      New project
    </Link>
  )
  return (
    <Page title="Projects" aside={newProject}>
      <Read query={projects} what="your projects">
        {(all) => (
          <Card>
            <Rows
              label="Projects"
              empty={<Empty>No projects yet. Create one from a git repository, or let svc host a new one.</Empty>}
            >
              {all
                .filter(({ account_id }) => account === undefined || account_id === account.account_id)
                .map((project) => (
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
          </Card>
        )}
      </Read>
      <DeletedProjects account={account} />
    </Page>
  )
}
