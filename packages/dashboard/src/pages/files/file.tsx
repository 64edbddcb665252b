import { Link } from '@tanstack/react-router'
import { Download } from 'lucide-react'
import { lazy, Suspense, useState } from 'react'
import { useProject } from '../../components/shell/project-shell.tsx'
import { Failure } from '../../components/requests.tsx'
import { paths } from '../../paths.ts'
import { Button, buttonClass } from '../../ui/form.tsx'
import { Card, Empty, Skeleton } from '../../ui/layout.tsx'
import { visibleName } from '../../ui/sanitizing-jsx/visible.ts'
import { fileBytes } from '../change-requests/diff/context.ts'
import { FileImage, isImage } from './image.tsx'
import type { FileReply } from './queries.ts'
import { sizeText } from './size-text.ts'

const Code = lazy(() => import('./code.tsx'))

/** More lines would make the page slow. */
const linesMax = 5000

interface Shown {
  file: FileReply
  at: string
}

export function FileContent({ file, at, blame }: Shown & { blame: boolean }) {
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
        <div className="flex flex-wrap items-center gap-1">
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
      <Code file={file} lines={lines} blame={blame} />
    </Suspense>
  )
}

/** Null for a file that is no text. */
function linesOf({ encoding, content, truncated }: FileReply): { lines: string[] | null; isCut: boolean } {
  if (encoding !== 'utf-8') return { lines: null, isCut: false }
  const lines = content.split('\n')
  if (lines.at(-1) === '') lines.pop()
  return { lines: lines.slice(0, linesMax), isCut: truncated || lines.length > linesMax }
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
        Download
      </Button>
      {state.error !== null && <Failure error={state.error} />}
    </>
  )
}
