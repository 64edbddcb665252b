/** Changes without a review, with the viewer of a change request: those of a commit or a session. */
import { type ReactNode, useMemo, useRef, useState } from 'react'
import { Failure } from '../../../components/requests.tsx'
import { type ChangedFile, type FilesOf, useChangedFiles } from '../files/changed-files.ts'
import { useView } from '../files/toolbar.tsx'
import { FileTree } from '../files/tree.tsx'
import { useContextLines } from './context.ts'
import { movesIn } from './moves.tsx'
import { isPicture, PlainFiles, showPlain } from './plain-files.tsx'
import { Highlighting, Viewer, viewerColumn, type ViewerHandle } from './viewer.tsx'

type Compared = Omit<FilesOf, 'patch' | 'isWhole' | 'whitespace_only'> & { patch?: string | undefined }

const noMoves = movesIn([], [])
const nothing = () => {}
const nothingShown = () => null
const no = () => false

export function ReadOnlyDiff({
  projectId,
  changes,
  hasTree = false,
  hasContext = true,
  aside,
}: {
  projectId: string
  changes: Compared
  hasTree?: boolean
  /** The project has the files of the newer side, so more of their lines can be shown. */
  hasContext?: boolean
  /** At the end of the header of a file. */
  aside: (file: ChangedFile) => ReactNode
}) {
  const [view] = useView()
  const [isRendered, setRendered] = useState(false)
  const [current, setCurrent] = useState<string | null>(null)
  const viewer = useRef<ViewerHandle>(null)
  const diff = useMemo(() => ({ ...changes, patch: changes.patch ?? '', isWhole: true }), [changes])
  const files = useChangedFiles(diff, isRendered)
  const context = useContextLines(projectId, changes.head_sha)
  const noteOf = (path: string) => {
    const file = files.find((each) => each.path === path)
    return file === undefined ? null : aside(file)
  }
  const show = (path: string) => {
    setCurrent(path)
    if (!showPlain(path)) viewer.current?.scrollTo({ type: 'item', id: path, align: 'start', behavior: 'instant' })
  }
  return (
    <div className="@container">
      <div className={`grid grid-cols-[minmax(0,1fr)] gap-4 ${hasTree ? '@2xl:grid-cols-[16rem_minmax(0,1fr)]' : ''}`}>
        {hasTree && <FileTree files={files} viewed={no} current={current} onPick={show} order={null} />}
        <div className="flex min-w-0 flex-col gap-3">
          {context.failed !== null && <Failure error={context.failed} />}
          {files.some(({ view, unread }) => view !== null || unread !== null) && (
            <div className={viewerColumn(isRendered)}>
              <Highlighting>
                <Viewer
                  ref={viewer}
                  files={files}
                  view={view}
                  collapsed={no}
                  drafts={null}
                  threads={[]}
                  renderThread={nothingShown}
                  renderNote={noteOf}
                  moves={noMoves}
                  onShowMoved={nothing}
                  load={hasContext ? context.load : null}
                  onAskOrigin={null}
                  onRendered={() => setRendered(true)}
                />
              </Highlighting>
            </div>
          )}
          <PlainFiles
            projectId={projectId}
            diff={diff}
            files={files.filter((file) => file.reason !== null || isPicture(file))}
            aside={aside}
          />
        </div>
      </div>
    </div>
  )
}
