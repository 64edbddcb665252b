import { tourProjectName } from '@svc/contract/schemas/tour'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { EmptyRepository } from '../../components/empty-repository.tsx'
import { paths } from '../../paths.ts'
import { Card, Loading, Page } from '../../ui/layout.tsx'
import { DeletedProjects } from '../projects/deleted.tsx'
import { NewProjectForm } from '../projects/new.tsx'
import { branches, type Project } from '../projects/queries.ts'
import { NewSession } from '../sessions/new-session.tsx'
import { ModelEditor } from '../settings/model.tsx'
import { models, modelUpstream } from '../settings/queries.ts'
import { TakeTour } from './take-tour.tsx'

/** From nothing to a running session: each step is done on the page. */
export default function FirstVisit({
  project: newest,
}: {
  /** The one that the second step made. */
  project: Project | undefined
}) {
  const { data } = useQuery(models)
  // The project of the tour is not the repository of the person, so the steps stay as they are while it starts.
  const project = newest?.name === tourProjectName ? undefined : newest
  return (
    <Page narrow title="Merge your first change in three steps">
      {project === undefined && <TakeTour />}
      <ol className="flex flex-col gap-6">
        <Step number={1} title="Set a model" isDone={data !== undefined && data.length > 0}>
          {data?.length === 0 ? (
            <SetModel />
          ) : (
            data !== undefined && <p className="text-dim">Agents use {data.map(({ name }) => name).join(', ')}.</p>
          )}
        </Step>
        <Step number={2} title="Connect a repository" isDone={project !== undefined}>
          {project === undefined ? (
            <Card>
              <NewProjectForm stays />
            </Card>
          ) : (
            <p className="text-dim">
              The project is{' '}
              <Link to={paths.settings} params={{ project: project.slug }} className="text-accent underline">
                {project.name}
              </Link>
              .
            </p>
          )}
        </Step>
        <Step number={3} title="Describe a task" isDone={false}>
          <p className="text-dim">
            The agent works on its own branch and opens a change request, which you review and merge here.
          </p>
          {project !== undefined && <FirstTask project={project} />}
        </Step>
      </ol>
      <DeletedProjects account={undefined} />
    </Page>
  )
}

const firstCommitMs = 3_000

function FirstTask({ project }: { project: Project }) {
  const { data } = useQuery({
    ...branches(project.project_id),
    refetchInterval: ({ state }) => (state.data?.branches.length === 0 ? firstCommitMs : false),
  })
  if (data === undefined) return <Loading what="the branches" />
  if (data.branches.length > 0) return <NewSession project={project} />
  return (
    <Card>
      <EmptyRepository project={project} />
    </Card>
  )
}

function Step({
  number,
  title,
  isDone,
  children,
}: {
  number: number
  title: string
  isDone: boolean
  children: ReactNode
}) {
  return (
    <li className="flex flex-col gap-3">
      <h2 className="font-semibold">
        {number}. {title}
        {isDone && <span className="font-normal text-good"> — done</span>}
      </h2>
      {children}
    </li>
  )
}

/** Only an owner of the instance may read and set it. */
function SetModel() {
  const { data, isError } = useQuery(modelUpstream)
  if (isError) return <p className="text-dim">Agents can't work until an owner of this server sets a model.</p>
  return data === undefined ? null : <ModelEditor of={data} />
}
