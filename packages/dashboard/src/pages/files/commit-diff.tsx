/** The changes of a commit, with the viewer of a change request. It loads when a commit is shown. */
import { useMemo, useState } from 'react'
import type { Reply } from '../../api.ts'
import { Failure } from '../../components/requests.tsx'
import { useProject } from '../../components/shell/project-shell.tsx'
import { useContextLines } from '../change-requests/diff/context.ts'
import { movesIn } from '../change-requests/diff/moves.tsx'
import { isPicture, PlainFiles } from '../change-requests/diff/plain-files.tsx'
import { Highlighting, Viewer, viewerColumn } from '../change-requests/diff/viewer.tsx'
import { type ChangedFile, useChangedFiles } from '../change-requests/files/changed-files.ts'
import { useView } from '../change-requests/files/toolbar.tsx'
import { FileLink } from './bar.tsx'

type Changes = Reply<'/v1/projects/{projectId}/compare'>

const noMoves = movesIn([], [])
const nothing = () => {}
const nothingShown = () => null
const isFolded = () => false

export default function CommitDiff({ changes }: { changes: Changes }) {
  const { project_id, slug } = useProject()
  const [view] = useView()
  const [isRendered, setRendered] = useState(false)
  const { head_sha: sha } = changes
  const diff = useMemo(() => ({ ...changes, patch: changes.patch ?? '', isWhole: true }), [changes])
  const files = useChangedFiles(diff, isRendered)
  const context = useContextLines(project_id, sha)
  const linkTo = ({ path, status }: Pick<ChangedFile, 'path' | 'status'>) =>
    status !== 'deleted' && (
      <FileLink project={slug} at={sha} path={path}>
        View file
      </FileLink>
    )
  return (
    <>
      {context.failed !== null && <Failure error={context.failed} />}
      {files.some(({ view, unread }) => view !== null || unread !== null) && (
        <div className={viewerColumn(isRendered)}>
          <Highlighting>
            <Viewer
              ref={null}
              files={files}
              view={view}
              collapsed={isFolded}
              drafts={null}
              threads={[]}
              renderThread={nothingShown}
              renderNote={(path) => files.filter((file) => file.path === path).map(linkTo)}
              moves={noMoves}
              onShowMoved={nothing}
              load={context.load}
              onAskOrigin={null}
              onRendered={() => setRendered(true)}
            />
          </Highlighting>
        </div>
      )}
      <PlainFiles
        projectId={project_id}
        diff={diff}
        files={files.filter((file) => file.reason !== null || isPicture(file))}
        aside={linkTo}
      />
    </>
  )
}
