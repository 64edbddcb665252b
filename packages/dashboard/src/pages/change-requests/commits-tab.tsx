import { useQuery } from '@tanstack/react-query'
import { Answer } from '../../components/answer.tsx'
import { type ChangeRequest, commitsOf } from '../../queries.ts'
import { Card, Empty, Row, Rows } from '../../ui/card.tsx'
import { Time } from '../../ui/time.tsx'

export function CommitsTab({ projectId, cr }: { projectId: string; cr: ChangeRequest }) {
  const found = useQuery(commitsOf(projectId, cr))
  return (
    <Answer of={found} what="the commits">
      {({ commits, ahead, behind }) => (
        <Card
          title={ahead === 1 ? '1 commit' : `${ahead} commits`}
          aside={
            behind > 0 && (
              <span className="text-sm text-dim">
                {cr.base_ref} has {behind} more
              </span>
            )
          }
        >
          {commits.length === 0 ? (
            <Empty>No commit that {cr.base_ref} does not have.</Empty>
          ) : (
            <Rows label="Commits">
              {commits.map((commit) => (
                <Row key={commit.sha}>
                  <code className="font-mono text-sm text-dim">{commit.sha.slice(0, 10)}</code>
                  <span className="min-w-0 grow basis-56">
                    {commit.subject}
                    {commit.body !== '' && (
                      <details className="text-sm text-dim">
                        <summary>more</summary>
                        <p className="whitespace-pre-wrap">{commit.body}</p>
                      </details>
                    )}
                  </span>
                  <span className="text-sm text-dim">{commit.author_name}</span>
                  <Time at={commit.committed_at} />
                </Row>
              ))}
            </Rows>
          )}
          {ahead > commits.length && (
            <p className="px-4 py-2 text-sm text-dim">The newest {commits.length} are shown.</p>
          )}
        </Card>
      )}
    </Answer>
  )
}
