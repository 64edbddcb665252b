import { useQuery } from '@tanstack/react-query'
import { Answer } from '../../components/answer.tsx'
import { type ChangeRequest, effects } from '../../queries.ts'
import { Card, Empty, Row, Rows } from '../../ui/card.tsx'
import { Notice } from '../../ui/notice.tsx'

/** What merging does beyond code. */
export function EffectsTab({ projectId, cr }: { projectId: string; cr: ChangeRequest }) {
  const found = useQuery(effects(projectId, cr))
  if (cr.status !== 'open') return <Empty>What a merge does beyond code is told while it is open.</Empty>
  return (
    <Answer of={found} what="what a merge does">
      {(told) =>
        told === undefined || !told.applies ? (
          <Empty>It does not merge into the default branch, so nothing but the branch changes.</Empty>
        ) : (
          <div className="flex flex-col gap-4">
            {told.secrets_missing.length > 0 && (
              <Notice tone="warn" title={`Secrets are missing: ${told.secrets_missing.join(', ')}`}>
                Set them under Secrets, before or after the merge.
              </Notice>
            )}
            {told.manifest_issues.map((issue) => (
              <Notice
                key={`${issue.path} ${issue.message}`}
                tone={issue.severity === 'error' ? 'bad' : 'warn'}
                title={`svc.toml${issue.line === null ? '' : `, line ${issue.line}`}: ${issue.path} ${issue.message}`}
              />
            ))}
            <Card title="Once it is merged">
              {told.words.length === 0 ? (
                <Empty>Nothing but code changes.</Empty>
              ) : (
                <Rows label="What a merge does">
                  {told.words.map((sentence) => (
                    <Row key={sentence}>{sentence}</Row>
                  ))}
                </Rows>
              )}
            </Card>
          </div>
        )
      }
    </Answer>
  )
}
