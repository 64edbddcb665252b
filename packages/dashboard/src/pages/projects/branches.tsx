import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Answer } from '../../components/answer.tsx'
import { useProject } from '../../components/project-shell.tsx'
import { paths } from '../../paths.ts'
import { branches } from '../../queries.ts'
import { Badge } from '../../ui/badge.tsx'
import { EmptyRepository } from '../../components/empty-repository.tsx'
import { Card, Row, Rows } from '../../ui/card.tsx'

export function BranchesPage() {
  const { project_id, slug } = useProject()
  const found = useQuery(branches(project_id))
  return (
    <div className="flex flex-col gap-6">
      <h1 className="text-xl font-semibold">Branches</h1>
      <Card>
        <Answer of={found} what="branches">
          {({ branches }) =>
            branches.length === 0 ? (
              <EmptyRepository />
            ) : (
              <Rows label="Branches">
                {branches.map((branch) => (
                  <Row key={branch.name}>
                    <span className="min-w-0 flex-1 font-mono text-sm">{branch.name}</span>
                    {branch.is_default ? (
                      <Badge tone="accent">default</Badge>
                    ) : (
                      <Link
                        to={paths.newChangeRequest}
                        params={{ project: slug }}
                        search={{ head: branch.name }}
                        className="text-sm text-accent underline"
                      >
                        Propose it
                      </Link>
                    )}
                    <code className="font-mono text-sm text-dim">{branch.sha.slice(0, 12)}</code>
                  </Row>
                ))}
              </Rows>
            )
          }
        </Answer>
      </Card>
    </div>
  )
}
