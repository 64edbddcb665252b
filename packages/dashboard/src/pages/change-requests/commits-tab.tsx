import { Link } from '@tanstack/react-router'
import { shortBranch } from '../../components/branch-name.tsx'
import { Read } from '../../components/requests.tsx'
import { useProject } from '../../components/shell/project-shell.tsx'
import { shortCommit } from '../../components/short-commit.ts'
import { paths } from '../../paths.ts'
import { type ChangeRequest, commitsOf } from './queries.ts'
import { Card, Empty, Row, Rows } from '../../ui/layout.tsx'
import { Time } from '../../ui/text.tsx'

export function CommitsTab({ cr }: { cr: ChangeRequest }) {
  const { slug } = useProject()
  return (
    <Read query={commitsOf(cr)} what="the commits">
      {({ commits, ahead, behind }) => (
        <Card
          title={ahead === 1 ? '1 commit' : `${ahead} commits`}
          aside={
            // A merged one is compared with the base of its merge, which was ahead then and not now.
            cr.status !== 'merged' &&
            behind > 0 && (
              <span className="text-sm text-dim">
                {cr.base_ref} is {behind} {behind === 1 ? 'commit' : 'commits'} ahead
              </span>
            )
          }
        >
          <Rows label="Commits" empty={<Empty>No commits yet. Push to {shortBranch(cr.head_ref)} to add some.</Empty>}>
            {commits.map((commit) => (
              <Row key={commit.sha}>
                <Link
                  to={paths.commit}
                  params={{ project: slug, sha: commit.sha }}
                  className="font-mono text-sm text-accent hover:underline"
                >
                  {shortCommit(commit.sha)}
                </Link>
                <span className="min-w-0 grow basis-56">
                  {commit.subject}
                  {commit.body !== '' && (
                    <details className="text-sm text-dim">
                      <summary>Show more</summary>
                      <p className="whitespace-pre-wrap">{commit.body}</p>
                    </details>
                  )}
                </span>
                <span className="text-sm text-dim">{commit.author_name}</span>
                <Time at={commit.committed_at} />
              </Row>
            ))}
          </Rows>
          {ahead > commits.length && (
            <p className="px-4 py-2 text-sm text-dim">Showing the newest {commits.length} commits.</p>
          )}
        </Card>
      )}
    </Read>
  )
}
