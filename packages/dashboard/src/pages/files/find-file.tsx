/** Finds a file by a part of its path, or leads to the search in the text of all files. */
import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { Failure } from '../../components/requests.tsx'
import { useProject } from '../../components/shell/project-shell.tsx'
import { paths as pages } from '../../paths.ts'
import { visibleName } from '../../ui/sanitizing-jsx/visible.ts'
import {
  SearchDialog,
  SearchInput,
  SearchItem,
  SearchList,
  searchOptions,
  SearchRoot,
} from '../../ui/search-dialog.tsx'
import { findPaths } from './find-paths.ts'
import { paths } from './queries.ts'

const shownMax = 50

interface Target {
  kind: 'file' | 'text'
  value: string
}

export default function FindFile({ at, onClose }: { at: string; onClose: () => void }) {
  const { project_id, slug } = useProject()
  const navigate = useNavigate()
  const { data, error } = useQuery(paths(project_id, at))
  const [text, setText] = useState('')
  const targets: Target[] = [
    ...findPaths(data?.files ?? [], text, shownMax).map((value) => ({ kind: 'file' as const, value })),
    ...(text.trim() === '' ? [] : [{ kind: 'text' as const, value: text }]),
  ]
  const open = ({ kind, value }: Target) => {
    onClose()
    const search = kind === 'file' ? { ref: at, path: value } : { ref: at, text: value }
    void navigate({ to: kind === 'file' ? pages.files : pages.searchFiles, params: { project: slug }, search })
  }
  return (
    <SearchDialog label="Find a file" onClose={onClose}>
      <SearchRoot
        {...searchOptions}
        items={targets}
        filter={null}
        value={text}
        itemToStringValue={(target: Target) => target.value}
        onValueChange={(next, { reason }) => reason !== 'item-press' && setText(next)}
      >
        <SearchInput label="Part of the path" placeholder="Find a file, or text in all files" />
        {error !== null && <Failure error={error} />}
        {data === undefined && error === null && <p className="p-4 text-sm text-dim">Loading the paths…</p>}
        <SearchList>
          {(target: Target) => (
            <SearchItem key={`${target.kind} ${target.value}`} value={target} onClick={() => open(target)}>
              {target.kind === 'file' ? (
                <span className="min-w-0 flex-1 font-mono text-sm wrap-anywhere">{visibleName(target.value)}</span>
              ) : (
                <span className="min-w-0 flex-1 truncate">Search all files for “{visibleName(target.value)}”</span>
              )}
            </SearchItem>
          )}
        </SearchList>
        {data?.truncated === true && (
          <p className="border-t border-line px-4 py-2 text-sm text-dim">
            The repository has too many files to search all paths.
          </p>
        )}
      </SearchRoot>
    </SearchDialog>
  )
}
