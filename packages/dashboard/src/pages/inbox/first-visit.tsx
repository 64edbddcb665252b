import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Card, Page } from '../../ui/layout.tsx'
import { Command } from '../../ui/text.tsx'
import { DeletedProjects } from '../projects/deleted.tsx'
import { NewProjectForm } from '../projects/new.tsx'
import { ModelEditor } from '../settings/model.tsx'
import { models, modelUpstream } from '../settings/queries.ts'

/** From nothing to a running session: each step is done on the page. */
export default function FirstVisit() {
  const { data } = useQuery(models)
  return (
    <Page narrow title="Merge your first change in three steps">
      <ol className="flex flex-col gap-6">
        <Step number={1} title="Set a model" isDone={data !== undefined && data.length > 0}>
          {data?.length === 0 ? (
            <SetModel />
          ) : (
            data !== undefined && <p className="text-dim">Agents use {data.map(({ name }) => name).join(', ')}.</p>
          )}
        </Step>
        <Step number={2} title="Connect a repository" isDone={false}>
          <Card>
            <NewProjectForm />
          </Card>
        </Step>
        <Step number={3} title="Describe a task" isDone={false}>
          <p className="text-dim">
            The page of the new project starts its first session. The agent opens a change request, which you review and
            merge here.
          </p>
        </Step>
      </ol>
      <div className="flex flex-col gap-2 text-dim">
        <p>To see the whole workflow first, with a scripted model instead of an AI, take the tour of the client:</p>
        <Command>svc tour</Command>
      </div>
      <DeletedProjects account={undefined} />
    </Page>
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
