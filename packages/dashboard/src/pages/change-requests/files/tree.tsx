import { useVirtualizer } from '@tanstack/react-virtual'
import { Check } from 'lucide-react'
import { useEffect, useMemo, useRef, useState } from 'react'
import type { ChangedFile } from './changed-files.ts'
import { reasonOf, type useReadingOrder } from './reading-order.ts'
import type { FileOrder } from '../review/review-state.ts'
import { Button } from '../../../ui/form.tsx'
import { visibleName } from '../../../ui/sanitizing-jsx/visible.ts'

const signs = { added: '+', modified: '±', deleted: '−', renamed: '→' } as const
const tones = { added: 'text-good', modified: 'text-warn', deleted: 'text-bad', renamed: 'text-accent' } as const
const filePx = 28
const folderPx = 24
/** The height of the list where it stands above the diff (max-h-48), unless the reader opens it. */
const foldedPx = 192

/** Beside the diff it stays in view while the page scrolls. */
const navClass =
  'flex min-h-0 flex-col gap-2 @2xl:sticky @2xl:top-[calc(var(--spacing-bar)+1rem)] @2xl:max-h-[calc(100dvh-9rem)] @2xl:self-start'

/** The changed files by folder, with a filter. Only the visible rows are in the document. */
export function FileTree({
  files,
  viewed,
  current,
  onPick,
  order,
}: {
  files: ChangedFile[]
  viewed: (file: ChangedFile) => boolean
  current: string | null
  onPick: (path: string) => void
  /** Null where there is one order. */
  order: Pick<ReturnType<typeof useReadingOrder>, 'order' | 'setOrder' | 'guided'> | null
}) {
  const [filter, setFilter] = useState('')
  const [isOpen, setOpen] = useState(false)
  const found = useMemo(() => matching(files, filter.toLowerCase()), [files, filter])
  const box = useRef<HTMLDivElement>(null)
  const virtual = useVirtualizer({
    count: found.length,
    getScrollElement: () => box.current,
    getItemKey: (index) => found[index]!.path,
    estimateSize: (index) => filePx + (beginsFolder(found, index) ? folderPx : 0),
    overscan: 8,
  })
  // The filter changes which rows start a folder, and so their height.
  useEffect(() => virtual.measure(), [virtual, found.length])
  const at = current === null ? -1 : found.findIndex(({ path }) => path === current)
  useEffect(() => {
    if (at >= 0) virtual.scrollToIndex(at)
  }, [virtual, at])
  return (
    <nav aria-label="Changed files" className={navClass}>
      <div className="flex flex-wrap items-center gap-2 @2xl:flex-col @2xl:items-stretch">
        <FilterField value={filter} onChange={setFilter} />
        {order !== null && <OrderChoice order={order.order} onOrder={order.setOrder} />}
      </div>
      <p className={`text-xs text-dim ${found.length === files.length ? '@max-2xl:sr-only' : ''}`} role="status">
        {found.length < files.length && `${found.length} of `}
        {files.length === 1 ? '1 file' : `${files.length} files`}
      </p>
      <div
        ref={box}
        className={`min-h-0 flex-1 overflow-y-auto text-[0.8125rem] [overflow-anchor:none] @2xl:max-h-none ${isOpen ? 'max-h-[70dvh]' : 'max-h-48'}`}
      >
        <ol className="relative" style={{ height: virtual.getTotalSize() }}>
          {virtual.getVirtualItems().map(({ index, key, start }) => (
            <li
              key={key}
              ref={virtual.measureElement}
              data-index={index}
              aria-posinset={index + 1}
              aria-setsize={found.length}
              className="absolute inset-x-0 top-0"
              style={{ transform: `translateY(${start}px)` }}
            >
              <TreeRow
                file={found[index]!}
                beginsFolder={beginsFolder(found, index)}
                isViewed={viewed(found[index]!)}
                isCurrent={found[index]!.path === current}
                reason={order?.guided.get(found[index]!.path)}
                onPick={onPick}
              />
            </li>
          ))}
        </ol>
      </div>
      {virtual.getTotalSize() > foldedPx && <ShowAll count={found.length} isOpen={isOpen} onOpen={setOpen} />}
    </nav>
  )
}

const matching = (files: ChangedFile[], text: string) =>
  text === '' ? files : files.filter(({ path }) => path.toLowerCase().includes(text))

function FilterField({ value, onChange }: { value: string; onChange: (text: string) => void }) {
  return (
    <input
      type="search"
      aria-label="Filter files"
      placeholder="Filter files"
      value={value}
      onChange={({ target }) => onChange(target.value)}
      className="min-h-control min-w-0 flex-1 basis-28 rounded-md border border-line-strong bg-ground px-3 text-sm @2xl:flex-none"
    />
  )
}

function ShowAll({ count, isOpen, onOpen }: { count: number; isOpen: boolean; onOpen: (isOpen: boolean) => void }) {
  return (
    <Button kind="quiet" className="@2xl:hidden" aria-expanded={isOpen} onClick={() => onOpen(!isOpen)}>
      {isOpen ? 'Show fewer files' : `Show all ${count} files`}
    </Button>
  )
}

function OrderChoice({ order, onOrder }: { order: FileOrder; onOrder: (order: FileOrder) => void }) {
  return (
    <>
      <label className="flex min-w-0 flex-1 basis-36 items-center gap-2 text-xs text-dim @2xl:flex-none">
        Order
        <select
          value={order}
          onChange={({ target }) => onOrder(target.value as FileOrder)}
          className="min-h-control min-w-0 flex-1 rounded-md border border-line-strong bg-panel px-2 text-sm text-text"
        >
          <option value="folders">By folder</option>
          <option value="guided">Read this first</option>
        </select>
      </label>
      {order === 'guided' && (
        <p className="text-xs text-dim">
          From imports and size: what others use comes first, then what uses it. Tests follow what they test. Generated
          and lock files are last.
        </p>
      )}
    </>
  )
}

function TreeRow({
  file,
  beginsFolder,
  isViewed,
  isCurrent,
  reason: guided,
  onPick,
}: {
  file: ChangedFile
  beginsFolder: boolean
  isViewed: boolean
  isCurrent: boolean
  /** Its place in the guided order. */
  reason: Parameters<typeof reasonOf>[0] | undefined
  onPick: (path: string) => void
}) {
  const folder = folderOf(file.path)
  const reason = guided === undefined ? null : reasonOf(guided)
  return (
    <>
      {beginsFolder && (
        <p className="truncate pt-1.5 pb-0.5 text-xs text-dim" title={visibleName(folder)}>
          {folder === '' ? 'Repository root' : visibleName(folder)}
        </p>
      )}
      <button
        type="button"
        onClick={() => onPick(file.path)}
        title={reason ?? visibleName(file.path)}
        aria-current={isCurrent ? 'true' : undefined}
        className="flex w-full items-center gap-1.5 rounded px-1.5 py-1 text-left hover:bg-hover aria-[current=true]:bg-selected"
      >
        <span aria-label={file.status} className={`w-3 font-mono ${tones[file.status]}`}>
          {signs[file.status]}
        </span>
        <span className={`min-w-0 truncate ${isViewed ? 'text-faint' : ''}`}>
          {visibleName(file.path.slice(folder === '' ? 0 : folder.length + 1))}
        </span>
        <span className="flex flex-1">
          {isViewed && <Check role="img" aria-label="viewed" className="size-3.5 flex-none text-faint" />}
        </span>
        {reason !== null && <span className="sr-only">{reason}</span>}
        {guided !== undefined && guided.imported_by > 0 && guided.kind === 'source' && (
          <span aria-hidden="true" className="text-xs whitespace-nowrap text-dim">
            ←{guided.imported_by}
          </span>
        )}
        <span className="font-mono text-xs whitespace-nowrap text-dim">
          {file.reason === 'binary' ? 'binary' : `+${file.additions} −${file.deletions}`}
        </span>
      </button>
    </>
  )
}

function beginsFolder(files: ChangedFile[], index: number): boolean {
  const folder = folderOf(files[index]!.path)
  return folder !== (index === 0 ? '' : folderOf(files[index - 1]!.path))
}

function folderOf(path: string): string {
  return path.includes('/') ? path.slice(0, path.lastIndexOf('/')) : ''
}
