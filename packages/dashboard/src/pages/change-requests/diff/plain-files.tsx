import type { ReactNode } from 'react'
import { Card, Row, Rows } from '../../../ui/layout.tsx'
import type { ChangedFile } from '../files/changed-files.ts'
import type { Diff } from '../queries.ts'
import { factsOf } from './file-facts.ts'
import { ImageComparison } from './images.tsx'
import { visibleName } from '../../../ui/sanitizing-jsx/visible.ts'

/** Rendered as an image, which runs no scripts and fetches nothing. Its changed lines are also in the diff. */
const svg = /\.svg$/i
const image = /\.(png|jpe?g|gif|webp|avif|svg|bmp|ico)$/i

/** Each image loads two files. */
const imagesMax = 50

export function isPicture({ path, reason }: ChangedFile): boolean {
  return (reason === 'binary' && image.test(path)) || (reason === null && svg.test(path))
}

/** Files without a text diff; images with both sides. */
export function PlainFiles({
  projectId,
  diff,
  files,
  aside,
}: {
  projectId: string
  diff: Pick<Diff, 'base_sha' | 'merge_base' | 'head_sha' | 'since'>
  files: ChangedFile[]
  /** At the end of the line of a file. */
  aside: (file: ChangedFile) => ReactNode
}) {
  if (files.length === 0) return null
  // With an earlier head to start from, that is what the files are compared with.
  const from = diff.since === undefined ? (diff.merge_base ?? diff.base_sha) : diff.since.sha
  return (
    <Card title={files.every(({ reason }) => reason === null) ? 'Images' : 'Images, binaries, and renames'}>
      <Rows label="Images, binaries, and renames">
        {files.map((file, index) => (
          <Row key={file.path}>
            <span tabIndex={-1} data-plain={file.path} className="min-w-40 flex-1 font-mono text-sm">
              {visibleName(file.path)}
            </span>
            <span className="text-sm text-dim">
              {file.status}. {factsOf(file)}
            </span>
            {aside(file)}
            {index < imagesMax && isPicture(file) && (
              <ImageComparison
                projectId={projectId}
                before={file.status === 'added' ? null : { at: from, path: file.oldPath ?? file.path }}
                after={file.status === 'deleted' ? null : { at: diff.head_sha, path: file.path }}
              />
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
