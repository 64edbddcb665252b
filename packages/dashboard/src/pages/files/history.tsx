import { getRouteApi, Link } from '@tanstack/react-router'
import { QueryResult } from '../../components/requests.tsx'
import { useProject } from '../../components/shell/project-shell.tsx'
import { shortCommit } from '../../components/short-commit.ts'
import { paths } from '../../paths.ts'
import { Button } from '../../ui/form.tsx'
import { Card, Empty, Page, Row, Rows } from '../../ui/layout.tsx'
import { visibleName } from '../../ui/sanitizing-jsx/visible.ts'
import { Time } from '../../ui/text.tsx'
import { FileLink, PathCrumbs, RefPicker } from './bar.tsx'
import { type Commit, useHistory } from './queries.ts'

const route = getRouteApi('/shell/projects/$project/commits')

export function HistoryPage() {
  const { project_id, default_branch } = useProject()
  const { ref, path = '' } = route.useSearch()
  const at = ref ?? default_branch
  const result = useHistory({ projectId: project_id, ref, path })
  return (
    <Page title="History">
      <div className="flex flex-col gap-4">
        <div className="flex flex-wrap items-center gap-2">
          <RefPicker at={at} path={path} to={paths.commits} />
          <PathCrumbs at={at} path={path} />
        </div>
        <Card>
          <QueryResult of={result} what="the history">
            {({ pages }) => (
              <Rows label="Commits" empty={<Empty>No commit of this branch changed this path.</Empty>}>
                {pages
                  .flatMap(({ data }) => data.commits)
                  .map((commit, at, all) => (
                    <CommitRow
                      key={commit.sha}
                      commit={commit}
                      path={commit.path ?? path}
                      isRenamed={commit.path !== all[at - 1]?.path}
                    />
                  ))}
              </Rows>
            )}
          </QueryResult>
          {result.hasNextPage && (
            <div className="grid place-items-center border-t border-line p-2">
              <Button busy={result.isFetchingNextPage} onClick={() => void result.fetchNextPage()}>
                Show more commits
              </Button>
            </div>
          )}
        </Card>
      </div>
    </Page>
  )
}

function CommitRow({
  commit,
  path,
  isRenamed,
}: {
  commit: Commit
  path: string
  /** The newer commits of the list have another name of the file. */
  isRenamed: boolean
}) {
  const { slug } = useProject()
  return (
    <Row>
      <span className="min-w-0 grow basis-56 wrap-anywhere">
        <Link
          to={paths.commit}
          params={{ project: slug, sha: commit.sha }}
          className="hover:text-accent hover:underline"
        >
          {commit.subject || 'No message'}
        </Link>
        {isRenamed && commit.path !== undefined && (
          <span className="block text-sm text-dim">
            Earlier name: <code className="font-mono">{visibleName(path)}</code>
          </span>
        )}
      </span>
      <span className="max-w-40 truncate text-sm text-dim">{commit.author_name}</span>
      <Time at={commit.committed_at} />
      <FileLink project={slug} at={commit.sha} path={path} className="font-mono text-sm text-accent hover:underline">
        <span className="sr-only">Files at </span>
        {shortCommit(commit.sha)}
      </FileLink>
    </Row>
  )
}
