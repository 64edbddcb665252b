/** The file that was chosen: its text, its image, or what is known of it. */
import { useQuery } from '@tanstack/react-query'
import { Suspense, useMemo } from 'react'
import { lazy } from '../../../components/lazy-code.tsx'
import { Failure } from '../../../components/requests.tsx'
import { Card, Empty, Skeleton } from '../../../ui/layout.tsx'
import { visible, visibleName } from '../../../ui/sanitizing-jsx/visible.ts'
import { linesOf } from '../../files/file-lines.ts'
import { isImage, Picture } from '../../files/image.tsx'
import { sizeText } from '../../files/size-text.ts'
import type { Session } from '../queries.ts'
import { type File, type Found, sessionFiles } from './queries.ts'

const Code = lazy(() => import('../../files/code.tsx'), 'default')

/** `known` are the notes that the page shows already. */
export function Content({ session, path, known }: { session: Session; path: string; known: readonly string[] }) {
  const { data, error, refetch } = useQuery(sessionFiles(session, path))
  if (data === undefined)
    return error === null ? (
      <Card title={<FileName path={path} />}>
        <Skeleton what="the file" rows={12} />
      </Card>
    ) : (
      <Failure error={error} retry={() => void refetch()} />
    )
  const notes = data.notes.filter((note) => !known.includes(note))
  return (
    <Card
      title={<FileName path={path} />}
      aside={<span className="text-sm text-dim">{factsOf(data).join(' · ')}</span>}
    >
      {notes.map((note) => (
        <p key={note} className="border-b border-line px-4 py-2 text-sm text-dim">
          {note}
        </p>
      ))}
      <Body found={data} path={path} />
    </Card>
  )
}

function FileName({ path }: { path: string }) {
  return <span className="font-mono font-normal wrap-anywhere">{visibleName(path)}</span>
}

const states = { committed: null, new: 'Not committed', changed: 'Changed', ignored: 'Ignored by git' } as const
const kinds = { directory: 'Folder', executable: 'Executable', symlink: 'Symbolic link', special: null, file: null }

function factsOf(found: Found): string[] {
  const lines = 'content' in found && found.content !== '' ? linesOf(found) : { lines: null, isCut: false }
  const facts = [
    kinds[found.type],
    lines.lines === null ? null : linesText(lines.lines.length, lines.isCut),
    'size' in found ? sizeText(found.size) : null,
    found.git === null ? null : states[found.git],
  ]
  return facts.filter((fact) => fact !== null)
}

const linesText = (count: number, isCut: boolean) =>
  `${isCut ? 'more than ' : ''}${count === 1 ? '1 line' : `${count} lines`}`

function Body({ found, path }: { found: Found; path: string }) {
  switch (found.type) {
    case 'directory':
      return <Empty>This is a folder. Choose a file in it.</Empty>
    case 'symlink':
      return (
        <Empty>
          This link leads to <code className="font-mono wrap-anywhere">{visible(found.target)}</code>. Links are not
          followed here.
        </Empty>
      )
    case 'special':
      return <Empty>This is a pipe, a socket, or a device, so it has no content.</Empty>
    case 'file':
    case 'executable':
      return <FileBody file={found} path={path} />
    default:
      return found satisfies never
  }
}

function FileBody({ file, path }: { file: File; path: string }) {
  const { lines, isCut } = useMemo(() => linesOf(file), [file])
  if (file.size === 0) return <Empty>This file is empty.</Empty>
  if (isImage({ ...file, path }) && file.content !== '') return <Image file={file} path={path} />
  if (lines === null) return <Empty>{bytesText(file)}</Empty>
  return (
    <>
      <Suspense fallback={<Skeleton what="the file" rows={12} />}>
        <Code path={path} lines={lines} version={null} blameAt={null} />
      </Suspense>
      {isCut && (
        <p className="border-t border-line px-4 py-2 text-sm text-dim">
          This file is too large to show in full. Open a terminal of the session to see the rest.
        </p>
      )}
    </>
  )
}

/** The notes say why there is no content of a small file. */
function bytesText({ binary, content, truncated, notes, size }: File): string {
  if (content === '' && notes.length > 0) return `${sizeText(size)}, not shown.`
  const what = binary ? 'Binary file' : 'This file is not UTF-8 text'
  return `${what} of ${sizeText(size)}.${truncated ? ' It is too large to load here.' : ''}`
}

function Image({ file, path }: { file: File; path: string }) {
  const bytes = useMemo(
    () =>
      file.encoding === 'utf-8'
        ? new TextEncoder().encode(file.content)
        : Uint8Array.from(atob(file.content), (letter) => letter.charCodeAt(0)),
    [file],
  )
  return <Picture bytes={bytes} path={path} />
}
