import { useEffect, useState } from 'react'
import { Card, Row, Rows } from '../../../ui/layout.tsx'
import type { ChangedFile } from '../files/changed-files.ts'
import type { Diff } from '../queries.ts'
import { fileBytes } from './context.ts'
import { visibleName } from '../../../ui/sanitizing-jsx/visible.ts'

const reasons = {
  binary: 'Binary file',
  truncated: 'Too large to show',
  empty: 'No changed lines: a rename, a mode change, or an empty file',
} as const
/** Rendered as an image, which runs no scripts and fetches nothing. Its changed lines are also in the diff. */
const svg = /\.svg$/i
const image = /\.(png|jpe?g|gif|webp|avif|svg|bmp|ico)$/i

/** Each image loads two files. */
const imagesMax = 50

export function isPicture({ path, reason }: ChangedFile): boolean {
  return (reason === 'binary' && image.test(path)) || (reason === null && svg.test(path))
}

/** Files without a text diff; images with both sides. */
export function PlainFiles({ projectId, diff, files }: { projectId: string; diff: Diff; files: ChangedFile[] }) {
  if (files.length === 0) return null
  const from = diff.merge_base ?? diff.base_sha
  return (
    <Card title={files.every(({ reason }) => reason === null) ? 'Images' : 'Images, binaries, and renames'}>
      <Rows label="Images, binaries, and renames">
        {files.map((file, index) => (
          <Row key={file.path}>
            <span tabIndex={-1} data-plain={file.path} className="min-w-0 flex-1 font-mono text-sm">
              {visibleName(file.path)}
            </span>
            <span className="text-sm text-dim">
              {file.status}. {file.reason === null ? '' : reasons[file.reason]}
            </span>
            {index < imagesMax && isPicture(file) && (
              <div className="flex w-full flex-wrap gap-4">
                {file.status !== 'added' && (
                  <Picture projectId={projectId} at={from} path={file.oldPath ?? file.path} word="Before" />
                )}
                {file.status !== 'deleted' && (
                  <Picture projectId={projectId} at={diff.head_sha} path={file.path} word="After" />
                )}
              </div>
            )}
          </Row>
        ))}
      </Rows>
    </Card>
  )
}

/** Shows the file below the diffs and focuses it; false when it is not there. */
export function showPlain(path: string): boolean {
  const name = [...document.querySelectorAll<HTMLElement>('[data-plain]')].find((each) => each.dataset.plain === path)
  name?.scrollIntoView({ block: 'center', behavior: 'instant' })
  name?.focus({ preventScroll: true })
  return name !== undefined
}

/** Rendered from bytes, because the document's policy allows no repository URL. */
function Picture({ projectId, at, path, word }: { projectId: string; at: string; path: string; word: string }) {
  const [url, setUrl] = useState<string | null>(null)
  const [failed, setFailed] = useState(false)
  useEffect(() => {
    const stop = new AbortController()
    let made: string | null = null
    fileBytes(projectId, at, path, stop.signal)
      .then((bytes) => {
        const type = path.toLowerCase().endsWith('.svg') ? 'image/svg+xml' : 'image/*'
        made = URL.createObjectURL(new Blob([bytes], { type }))
        setUrl(made)
      })
      .catch(() => stop.signal.aborted || setFailed(true))
    return () => {
      stop.abort()
      if (made !== null) URL.revokeObjectURL(made)
    }
  }, [projectId, at, path])
  return (
    <figure className="flex flex-col gap-1">
      <figcaption className="text-xs text-dim">{word}</figcaption>
      {failed ? (
        <p className="text-sm text-dim">Can't show this image.</p>
      ) : (
        url !== null && (
          <img
            src={url}
            alt={`${path}, ${word.toLowerCase()} the change`}
            className="max-h-72 max-w-full border border-line"
            onError={() => setFailed(true)}
          />
        )
      )}
    </figure>
  )
}
