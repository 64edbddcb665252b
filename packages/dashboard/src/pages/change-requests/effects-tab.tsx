import { useQuery } from '@tanstack/react-query'
import { QueryResult } from '../../components/query-result.tsx'
import { type ChangeRequest, effects } from './queries.ts'
import { Card, Empty, Row, Rows } from '../../ui/card.tsx'
import { Notice } from '../../ui/notice.tsx'

/** The effects of the merge beyond code. */
export function EffectsTab({ projectId, cr }: { projectId: string; cr: ChangeRequest }) {
  const result = useQuery(effects(projectId, cr))
  if (cr.status !== 'open')
    return (
      <Empty>
        Effects show what a merge changes beyond code, such as triggers and apps. They are available while the change
        request is open.
      </Empty>
    )
  return (
    <QueryResult of={result} what="the effects">
      {(found) =>
        found === undefined || !found.applies ? (
          <Empty>No effects: this change request doesn't merge into the default branch.</Empty>
        ) : (
          <div className="flex flex-col gap-4">
            {found.secrets_missing.length > 0 && (
              <Notice tone="warn" title={`Secrets are missing: ${found.secrets_missing.join(', ')}`}>
                Set them on the Secrets page, before or after the merge.
              </Notice>
            )}
            {found.manifest_issues.map((issue) => (
              <Notice
                key={`${issue.path} ${issue.message}`}
                tone={issue.severity === 'error' ? 'bad' : 'warn'}
                title={`svc.toml${issue.line === null ? '' : `, line ${issue.line}`}: ${issue.path} ${issue.message}`}
              />
            ))}
            <Card title="After the merge">
              {found.words.length === 0 ? (
                <Empty>No effects: only code changes.</Empty>
              ) : (
                <Rows label="Effects">
                  {found.words.map((sentence) => (
                    <Row key={sentence}>{sentence}</Row>
                  ))}
                </Rows>
              )}
            </Card>
          </div>
        )
      }
    </QueryResult>
  )
}
