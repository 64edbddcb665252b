import { useEffect, useState } from 'react'
import { useProject } from '../../components/shell/project-shell.tsx'
import { Empty } from '../../ui/layout.tsx'
import { fileBytes } from '../change-requests/diff/context.ts'
import type { FileReply } from './queries.ts'

const image = /\.(png|jpe?g|gif|webp|avif|bmp|ico)$/i
/** Its text shows as code as well as any, but an image is what people look for. It runs no scripts and fetches nothing. */
const svg = /\.svg$/i
const bytesMax = 16 * 1024 * 1024

export function isImage({ path, type, size, binary }: Pick<FileReply, 'path' | 'type' | 'size' | 'binary'>): boolean {
  return type !== 'symlink' && size <= bytesMax && ((binary && image.test(path)) || svg.test(path))
}

export function FileImage({ file: { sha, path } }: { file: FileReply }) {
  const { project_id: projectId } = useProject()
  const [bytes, setBytes] = useState<BlobPart | null>(null)
  const [failed, setFailed] = useState(false)
  useEffect(() => {
    const stop = new AbortController()
    fileBytes(projectId, sha, path, stop.signal)
      .then(setBytes)
      .catch(() => stop.signal.aborted || setFailed(true))
    return () => stop.abort()
  }, [projectId, sha, path])
  return failed ? <NotShown /> : <Picture bytes={bytes} path={path} />
}

const NotShown = () => <Empty>Can't show this image. Download it to see it.</Empty>

/** Rendered from bytes, because the document's policy allows no repository URL. Empty until they are there. */
export function Picture({ bytes, path }: { bytes: BlobPart | null; path: string }) {
  const [url, setUrl] = useState<string | null>(null)
  const [failed, setFailed] = useState(false)
  useEffect(() => {
    if (bytes === null) return
    const made = URL.createObjectURL(new Blob([bytes], { type: svg.test(path) ? 'image/svg+xml' : 'image/*' }))
    setUrl(made)
    setFailed(false)
    return () => URL.revokeObjectURL(made)
  }, [bytes, path])
  if (failed) return <NotShown />
  return (
    <div className="grid place-items-center p-4">
      {url !== null && (
        <img
          src={url}
          alt={path}
          className="max-h-[70dvh] max-w-full border border-line"
          onError={() => setFailed(true)}
        />
      )}
    </div>
  )
}
