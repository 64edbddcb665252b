import type { Project } from '../pages/projects/queries.ts'
import { Button } from '../ui/form.tsx'
import { Empty } from '../ui/layout.tsx'
import { Failure, useSend } from './requests.tsx'
import { useWriteRefusal } from './role.ts'

/** A repository before its first commit, which creates the default branch. `onStart` runs when this server has made it. */
export function EmptyRepository({ project, onStart }: { project: Project; onStart?: () => void }) {
  return (
    <Empty command={`svc projects link ${project.slug}\nsvc ship`}>
      <p>This repository is empty, and a session needs a branch to start from.</p>
      {project.managed && <StartWithReadme project={project} onStart={onStart} />}
      <p>
        {project.managed ? 'To start with your own work, commit it' : 'Commit your work'}, then run this in its folder:
      </p>
    </Empty>
  )
}

function StartWithReadme({ project, onStart }: { project: Project; onStart: (() => void) | undefined }) {
  const { project_id: projectId, account_id: accountId } = project
  const refusal = useWriteRefusal(accountId)
  const start = useSend('POST', '/v1/projects/{projectId}/first-commit', {
    path: { projectId },
    once: true,
    refetch: [['project', projectId]],
    ...(onStart === undefined ? {} : { onSuccess: onStart }),
  })
  return (
    <div className="my-4 flex flex-col items-center gap-3">
      <Button kind="primary" disabledReason={refusal} busy={start.isPending} onClick={() => start.mutate({})}>
        Start with a README
      </Button>
      {start.isError && <Failure error={start.error} />}
    </div>
  )
}
