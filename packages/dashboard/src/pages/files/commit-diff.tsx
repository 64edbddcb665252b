/** The changes of a commit. The viewer loads when a commit is shown. */
import type { Reply } from '../../api.ts'
import { useProject } from '../../components/shell/project-shell.tsx'
import { ReadOnlyDiff } from '../change-requests/diff/read-only.tsx'
import { FileLink } from './bar.tsx'

export default function CommitDiff({ changes }: { changes: Reply<'/v1/projects/{projectId}/compare'> }) {
  const { project_id, slug } = useProject()
  return (
    <ReadOnlyDiff
      projectId={project_id}
      changes={changes}
      aside={({ path, status }) =>
        status !== 'deleted' && (
          <FileLink project={slug} at={changes.head_sha} path={path}>
            View file
          </FileLink>
        )
      }
    />
  )
}
