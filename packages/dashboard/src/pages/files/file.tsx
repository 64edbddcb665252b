import { Link } from '@tanstack/react-router'
import { Download, Pencil } from 'lucide-react'
import { Suspense, useState } from 'react'
import { lazy } from '../../components/lazy-code.tsx'
import { useWriteRefusal } from '../../components/role.ts'
import { useProject } from '../../components/shell/project-shell.tsx'
import { Failure } from '../../components/requests.tsx'
import { paths } from '../../paths.ts'
import { Button, buttonClass } from '../../ui/form.tsx'
import { Card, Empty, Skeleton } from '../../ui/layout.tsx'
import { visibleName } from '../../ui/sanitizing-jsx/visible.ts'
import { fileBytes } from '../change-requests/diff/context.ts'
import { isSha } from './bar.tsx'
import { linesOf } from './file-lines.ts'
import { FileImage, isImage } from './image.tsx'
import type { FileReply } from './queries.ts'
import { sizeText } from './size-text.ts'

const Code = lazy(() => import('./code.tsx'), 'default')
const EditFile = lazy(() => import('./edit-file.tsx'), 'default')

interface Shown {
  file: FileReply
  at: string
}

/** How a file is shown beyond its text. */
export type View = 'blame' | 'edit'

export function FileContent({ file, at, view }: Shown & { view: View | undefined }) {
  if (view !== 'edit' || whyNotEdited(file, at) !== null)
    return <ShownFile file={file} at={at} blame={view === 'blame'} />
  return (
    <Suspense fallback={<Skeleton what="the editor" rows={12} />}>
      <EditFile file={file} at={at} />
    </Suspense>
  )
}

/** As the service does. */
const editBytesMax = 512 * 1024

function whyNotEdited({ encoding, truncated, size, type }: FileReply, at: string): string | null {
  if (isSha(at)) return 'Choose a branch to edit the file.'
  if (type === 'symlink') return 'A symbolic link is not edited here.'
  if (encoding !== 'utf-8') return 'Only UTF-8 text is edited here.'
  return truncated || size > editBytesMax ? 'Files over 512 KiB are edited in a clone.' : null
}

function EditLink({ file, at }: Shown) {
  const { slug, account_id: accountId } = useProject()
  const refusal = useWriteRefusal(accountId) ?? whyNotEdited(file, at)
  const content = (
    <>
      <Pencil aria-hidden className="size-3.5" />
      <span className="max-sm:sr-only">Edit</span>
    </>
  )
  if (refusal !== null)
    return (
      <Button kind="quiet" disabledReason={refusal}>
        {content}
      </Button>
    )
  return (
    <Link
      to={paths.files}
      params={{ project: slug }}
      search={{ ref: at, path: file.path, view: 'edit' }}
      className={buttonClass('quiet')}
    >
      {content}
    </Link>
  )
}

function ShownFile({ file, at, blame }: Shown & { blame: boolean }) {
  const { slug } = useProject()
  const { lines, isCut } = linesOf(file)
  const facts = [
    { file: null, executable: 'Executable', symlink: 'Symbolic link' }[file.type],
    lines === null ? null : `${isCut ? 'more than ' : ''}${lines.length === 1 ? '1 line' : `${lines.length} lines`}`,
    sizeText(file.size),
  ]
  return (
    <Card
      title={<span className="font-normal text-dim">{facts.filter((fact) => fact !== null).join(' · ')}</span>}
      aside={
        <div className="flex flex-wrap items-center gap-1 max-sm:-mx-2.5">
          {lines !== null && file.type !== 'symlink' && (
            <Link
              to={paths.files}
              params={{ project: slug }}
              search={{ ref: at, path: file.path, ...(blame ? {} : { view: 'blame' as const }) }}
              hash={true}
              replace
              className={buttonClass('quiet')}
            >
              {blame ? 'Hide blame' : 'Blame'}
            </Link>
          )}
          {lines !== null && <EditLink file={file} at={at} />}
          <RawButton file={file} />
        </div>
      }
    >
      <Body file={file} lines={lines} blame={blame && file.type !== 'symlink'} />
      {isCut && (
        <p className="border-t border-line px-4 py-2 text-sm text-dim">
          This file is too large to show in full. Download it to see the rest.
        </p>
      )}
    </Card>
  )
}

function Body({ file, lines, blame }: { file: FileReply; lines: string[] | null; blame: boolean }) {
  if (isImage(file)) return <FileImage file={file} />
  if (lines === null)
    return (
      <Empty>{file.binary ? 'Binary file.' : 'This file is not UTF-8 text.'} Download it to see its content.</Empty>
    )
  if (file.size === 0) return <Empty>This file is empty.</Empty>
  return (
    <Suspense fallback={<Skeleton what="the file" rows={12} />}>
      <Code path={file.path} version={file.blob_sha} lines={lines} blameAt={blame ? file.sha : null} />
    </Suspense>
  )
}

function RawButton({ file }: { file: FileReply }) {
  const { project_id } = useProject()
  const [state, setState] = useState<{ isBusy: boolean; error: unknown }>({ isBusy: false, error: null })
  const download = async () => {
    setState({ isBusy: true, error: null })
    try {
      const url = URL.createObjectURL(new Blob([await fileBytes(project_id, file.sha, file.path)]))
      const link = document.createElement('a')
      link.href = url
      link.download = visibleName(file.path.slice(file.path.lastIndexOf('/') + 1))
      link.click()
      URL.revokeObjectURL(url)
      setState({ isBusy: false, error: null })
    } catch (error) {
      setState({ isBusy: false, error })
    }
  }
  return (
    <>
      <Button kind="quiet" busy={state.isBusy} onClick={() => void download()}>
        <Download aria-hidden className="size-3.5" />
        <span className="max-sm:sr-only">Download</span>
      </Button>
      {state.error !== null && <Failure error={state.error} />}
    </>
  )
}
