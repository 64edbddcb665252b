import { useMemo, useState } from 'react'
import type { ChangedFile } from './changed-files.ts'
import { visibleName } from '../../../ui/drawn/visible.ts'

const signs = { added: '+', modified: '±', deleted: '−', renamed: '→' } as const
const tones = { added: 'text-good', modified: 'text-warn', deleted: 'text-bad', renamed: 'text-accent' } as const
const shownMax = 2_000

/** The changed files by folder, with a filter. */
export function FileTree({
  files,
  viewed,
  current,
  onPick,
}: {
  files: ChangedFile[]
  viewed: (file: ChangedFile) => boolean
  current: string | null
  onPick: (path: string) => void
}) {
  const [filter, setFilter] = useState('')
  const found = useMemo(() => {
    const wanted = filter.toLowerCase()
    return files.filter(({ path }) => path.toLowerCase().includes(wanted))
  }, [files, filter])
  return (
    <nav aria-label="Changed files" className="flex h-full min-h-0 flex-col gap-2">
      <input
        type="search"
        aria-label="Filter files"
        placeholder="Filter files"
        value={filter}
        onChange={(event) => setFilter(event.target.value)}
        className="min-h-9 rounded-md border border-line-strong bg-ground px-3 text-sm"
      />
      <p className="text-xs text-dim" role="status">
        {found.length < files.length && `${found.length} of `}
        {files.length === 1 ? '1 file' : `${files.length} files`}
      </p>
      <ol className="min-h-0 flex-1 overflow-y-auto text-[0.8125rem]">
        {found.slice(0, shownMax).map((file, i) => {
          const folder = folderOf(file.path)
          const isNew = i === 0 || folderOf(found[i - 1]!.path) !== folder
          return (
            <li key={file.path}>
              {isNew && folder !== '' && (
                <p className="truncate pt-1.5 pb-0.5 text-xs text-dim">{visibleName(folder)}</p>
              )}
              <button
                type="button"
                onClick={() => onPick(file.path)}
                aria-current={file.path === current ? 'true' : undefined}
                className="flex w-full items-center gap-1.5 rounded px-1.5 py-1 text-left hover:bg-raised aria-[current=true]:bg-sunken"
              >
                <span aria-label={file.status} className={`w-3 font-mono ${tones[file.status]}`}>
                  {signs[file.status]}
                </span>
                <span className={`min-w-0 flex-1 truncate ${viewed(file) ? 'text-dim line-through' : ''}`}>
                  {visibleName(file.path.slice(folder === '' ? 0 : folder.length + 1))}
                </span>
                <span className="font-mono text-xs whitespace-nowrap text-dim">
                  {file.reason === 'binary' ? 'binary' : `+${file.additions} −${file.deletions}`}
                </span>
              </button>
            </li>
          )
        })}
      </ol>
      {found.length > shownMax && (
        <p className="text-xs text-dim">Filter to see the other {found.length - shownMax}.</p>
      )}
    </nav>
  )
}

function folderOf(path: string): string {
  return path.includes('/') ? path.slice(0, path.lastIndexOf('/')) : ''
}
