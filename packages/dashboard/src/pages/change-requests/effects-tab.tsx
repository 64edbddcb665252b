import { Read } from '../../components/requests.tsx'
import { type ChangeRequest, effects } from './queries.ts'
import { Card, Empty, Notice, Row, Rows } from '../../ui/layout.tsx'
import { EffectRows, shownDetails } from './merge/effect-rows.tsx'
import type { Landing } from './merge/landing.ts'
import { ManifestIssues } from '../../components/manifest-issues.tsx'

export function EffectsTab({ cr, landing }: { cr: ChangeRequest; landing: Landing }) {
  if (cr.status !== 'open')
    return (
      <Empty>
        Effects show what a merge changes beyond code, such as triggers and apps. They are available while the change
        request is open.
      </Empty>
    )
  return (
    <Read query={effects(cr)} what="the effects">
      {(found) =>
        found === undefined || !found.applies ? (
          <Empty>No effects: this change request doesn't merge into the default branch.</Empty>
        ) : (
          <div className="flex flex-col gap-4">
            {found.secrets_missing.length > 0 && (
              <Notice
                tone="warn"
                title={`${found.secrets_missing.length === 1 ? 'A secret is' : 'Secrets are'} missing: ${found.secrets_missing.join(', ')}`}
              >
                Set secrets in the panel or on the Secrets page, before or after the merge.
              </Notice>
            )}
            <ManifestIssues bySeverity issues={found.manifest_issues} />
            {shownDetails(found).length > 0 && (
              <Card title="Before and after">
                <div className="px-4 py-3">
                  <EffectRows details={shownDetails(found)} landing={landing} />
                </div>
              </Card>
            )}
            <Card title="After the merge">
              <Rows label="Effects" empty={<Empty>No effects: only code changes.</Empty>}>
                {found.words.map((sentence) => (
                  <Row key={sentence}>{sentence}</Row>
                ))}
              </Rows>
            </Card>
          </div>
        )
      }
    </Read>
  )
}
