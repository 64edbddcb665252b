import { getRouteApi, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { Read } from '../../components/requests.tsx'
import { useProject } from '../../components/shell/project-shell.tsx'
import { paths } from '../../paths.ts'
import { Button, Form, Input } from '../../ui/form.tsx'
import { Card, Empty, Page } from '../../ui/layout.tsx'
import { visibleName } from '../../ui/sanitizing-jsx/visible.ts'
import { FileLink } from './bar.tsx'
import { matches } from './queries.ts'

const route = getRouteApi('/shell/projects/$project/files/search')

export function SearchFilesPage() {
  const { project_id, slug, default_branch } = useProject()
  const { ref, text = '' } = route.useSearch()
  const at = ref ?? default_branch
  const navigate = useNavigate()
  const [typed, setTyped] = useState(text)
  const search = () =>
    typed !== '' && navigate({ to: paths.searchFiles, params: { project: slug }, search: { ref: at, text: typed } })
  return (
    <Page title="Search files">
      <Form onSubmit={search} className="flex max-w-3xl items-end gap-2 *:[label]:flex-1">
        <Input label={`Text in the files of ${at}`} value={typed} maxLength={200} onChange={setTyped} />
        <Button type="submit" kind="primary" disabledReason={typed === '' ? 'Enter the text to find.' : null}>
          Search
        </Button>
      </Form>
      {text !== '' && (
        <Read query={matches(project_id, ref, text)} what="the matches">
          {(found) => (
            <div className="flex flex-col gap-4">
              <p role="status" className="text-sm text-dim">
                {found.truncated ? 'Showing the first ' : ''}
                {found.matches.length === 1 ? '1 line' : `${found.matches.length} lines`}
              </p>
              {found.matches.length === 0 && <Empty>No text file of {at} contains this text.</Empty>}
              {[...Map.groupBy(found.matches, ({ path }) => path)].map(([path, lines]) => (
                <Card
                  key={path}
                  title={
                    <FileLink project={slug} at={at} path={path} className="font-mono wrap-anywhere hover:underline">
                      {visibleName(path)}
                    </FileLink>
                  }
                >
                  <ol className="overflow-x-auto py-1 font-mono text-xs" tabIndex={0} aria-label={path}>
                    {lines.map(({ line, text }) => (
                      <li key={line}>
                        <FileLink
                          project={slug}
                          at={at}
                          path={path}
                          line={line}
                          className="flex min-h-6 items-center gap-3 px-4 hover:bg-hover"
                        >
                          <span className="w-10 flex-none text-right text-faint">{line}</span>
                          <span className="whitespace-pre">{text}</span>
                        </FileLink>
                      </li>
                    ))}
                  </ol>
                </Card>
              ))}
            </div>
          )}
        </Read>
      )}
    </Page>
  )
}
