import { tourProjectName } from '@svc/contract/schemas/tour'
import { useQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { changeRequests } from '../../pages/change-requests/queries.ts'
import { findProject } from '../../pages/projects/find-project.ts'
import { type Project, projects } from '../../pages/projects/queries.ts'
import { paths } from '../../paths.ts'
import { buttonClass } from '../../ui/form.tsx'
import { Notice } from '../../ui/layout.tsx'
import { ChangeRequestLink, linkClass } from '../links.tsx'

/** On the pages of the tour's project: what happens there, and how to remove it. */
export function TourNotice() {
  const { project: name } = useParams({ strict: false })
  const { data = [] } = useQuery(projects)
  const project = name === undefined ? undefined : findProject(data, name)
  if (project === undefined || !project.managed || project.name !== tourProjectName) return null
  return (
    <Notice
      tone="neutral"
      title="This is the tour"
      action={
        <Link to={paths.settings} params={{ project: project.slug }} className={buttonClass('quiet')}>
          Delete this project
        </Link>
      }
    >
      A scripted model, not an AI, changes a page and opens a change request. Review it, then merge it.
      <Next project={project} />
    </Notice>
  )
}

function Next({ project: { project_id: projectId, slug } }: { project: Project }) {
  const { data: [open] = [] } = useQuery(changeRequests(projectId, 'open'))
  if (open === undefined) return null
  return (
    <>
      {' '}
      <ChangeRequestLink project={slug} number={open.number} className={linkClass}>
        Review #{open.number}
      </ChangeRequestLink>
    </>
  )
}
