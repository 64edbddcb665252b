import { getRouteApi, Link } from '@tanstack/react-router'
import { Suspense } from 'react'
import { lazy } from '../../components/lazy-code.tsx'
import { Read } from '../../components/requests.tsx'
import { useProject } from '../../components/shell/project-shell.tsx'
import { shortCommit } from '../../components/short-commit.ts'
import { paths } from '../../paths.ts'
import { buttonClass } from '../../ui/form.tsx'
import { Card, Empty, Loading, Notice, Page } from '../../ui/layout.tsx'
import { Time } from '../../ui/text.tsx'
import { FileLink } from './bar.tsx'
import { changes, commit, type Commit } from './queries.ts'

const route = getRouteApi('/shell/projects/$project/commits/$sha')
/** Larger than the rest of the page. */
const CommitDiff = lazy(() => import('./commit-diff.tsx'), 'default')

export function CommitPage() {
  const { project_id } = useProject()
  const { sha } = route.useParams()
  return (
    <Page title={`Commit ${shortCommit(sha)}`}>
      <Read query={commit(project_id, sha)} what="the commit">
        {(found) => found !== undefined && <Shown commit={found} />}
      </Read>
    </Page>
  )
}

function Shown({ commit: { sha, parents, subject, body, author_name, authored_at } }: { commit: Commit }) {
  const { slug } = useProject()
  const [parent] = parents
  return (
    <>
      <header className="flex flex-col gap-2">
        <h2 className="text-lg font-semibold wrap-anywhere">{subject || 'No message'}</h2>
        {body !== '' && <p className="max-w-4xl text-sm wrap-anywhere whitespace-pre-wrap text-dim">{body}</p>}
        <p className="flex flex-wrap items-center gap-x-3 gap-y-1 text-sm text-dim">
          <span className="wrap-anywhere">{author_name}</span>
          <Time at={authored_at} />
          {parents.map((each) => (
            <span key={each}>
              Parent{' '}
              <Link
                to={paths.commit}
                params={{ project: slug, sha: each }}
                className="font-mono text-accent hover:underline"
              >
                {shortCommit(each)}
              </Link>
            </span>
          ))}
          <FileLink project={slug} at={sha} path="" className={buttonClass('plain')}>
            Browse files
          </FileLink>
        </p>
      </header>
      {parent === undefined ? (
        <Card>
          <Empty>This is the first commit. Browse its files to see what it added.</Empty>
        </Card>
      ) : (
        <Changes sha={sha} parent={parent} />
      )}
    </>
  )
}

function Changes({ sha, parent }: { sha: string; parent: string }) {
  const { project_id } = useProject()
  return (
    <Read query={changes(project_id, sha, parent)} what="the changes">
      {(found) => (
        <section aria-label="Changed files" className="flex flex-col gap-3">
          {found.truncated && (
            <Notice tone="warn" title="This commit is too large to show in full">
              Some files or diffs are left out.
            </Notice>
          )}
          {found.files.length === 0 ? (
            <Empty>This commit changed no files.</Empty>
          ) : (
            <Suspense fallback={<Loading what="the diff viewer" />}>
              <CommitDiff changes={found} />
            </Suspense>
          )}
        </section>
      )}
    </Read>
  )
}
