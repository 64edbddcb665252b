import { useQuery } from '@tanstack/react-query'
import { Suspense } from 'react'
import { lazy } from '../../components/lazy-code.tsx'
import { fileIcons } from '../../components/file-icons.ts'
import { useProject } from '../../components/shell/project-shell.tsx'
import { Card, Empty, Rows, rowClass } from '../../ui/layout.tsx'
import { visibleName } from '../../ui/sanitizing-jsx/visible.ts'
import { FileLink } from './bar.tsx'
import { file, type Tree } from './queries.ts'
import { sizeText } from './size-text.ts'

const Prose = lazy(() => import('../../components/markdown.tsx'), 'Prose')

const linesMax = 1000

export function Folder({ tree, at }: { tree: Tree; at: string }) {
  const readme = tree.entries.find(({ name, type }) => /^readme(\.md|\.markdown)?$/i.test(name) && type === 'file')
  const shown = tree.entries.slice(0, linesMax)
  return (
    <>
      <Card>
        <Rows label="Files" empty={<Empty>This folder is empty.</Empty>}>
          {shown.map((entry) => (
            <Entry key={entry.path} entry={entry} at={at} />
          ))}
        </Rows>
        {(tree.truncated || shown.length < tree.entries.length) && (
          <p className="border-t border-line px-4 py-2 text-sm text-dim">
            Showing the first {shown.length} entries. Press t to find a file by its path.
          </p>
        )}
      </Card>
      {readme !== undefined && <Readme path={readme.path} name={readme.name} at={at} />}
    </>
  )
}

function Entry({ entry, at }: { entry: Tree['entries'][number]; at: string }) {
  const { slug } = useProject()
  const [Icon, label] = fileIcons[entry.type]
  return (
    <li className={rowClass}>
      <Icon aria-label={label} role="img" className="size-4 flex-none text-dim" />
      <span className="min-w-0 flex-1 font-mono text-sm wrap-anywhere">
        {entry.type === 'submodule' ? (
          visibleName(entry.name)
        ) : (
          <FileLink project={slug} at={at} path={entry.path} className="hover:text-accent hover:underline">
            {visibleName(entry.name)}
          </FileLink>
        )}
      </span>
      {entry.size !== null && <span className="text-sm text-faint">{sizeText(entry.size)}</span>}
    </li>
  )
}

function Readme({ path, name, at }: { path: string; name: string; at: string }) {
  const { project_id } = useProject()
  const { data } = useQuery(file({ projectId: project_id, ref: at, path }))
  if (data === undefined || data.binary || data.encoding !== 'utf-8') return null
  return (
    <Card title={visibleName(name)}>
      <div className="max-w-4xl p-4 wrap-anywhere">
        <Suspense>
          <Prose>{data.content}</Prose>
        </Suspense>
        {data.truncated && <p className="mt-4 text-sm text-dim">Showing the first MiB of this file.</p>}
      </div>
    </Card>
  )
}
