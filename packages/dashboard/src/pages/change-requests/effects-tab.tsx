import { Read } from '../../components/requests.tsx'
import { type ChangeRequest, effects } from './queries.ts'
import { Card, Empty } from '../../ui/layout.tsx'
import { EffectRows, shownDetails } from './merge/effect-rows.tsx'
import { AddedSecrets } from './merge/merge-notices.tsx'
import { ManifestIssues } from '../../components/manifest-issues.tsx'

/** What a merge does beyond code. What a person decides about it is in the panel. */
export function EffectsTab({ cr }: { cr: ChangeRequest }) {
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
            <AddedSecrets effects={found} />
            <ManifestIssues bySeverity issues={found.manifest_issues} />
            <Card title="After the merge">
              {shownDetails(found).length === 0 ? (
                <Empty>Only code changes.</Empty>
              ) : (
                <div className="px-4 py-3">
                  <EffectRows details={shownDetails(found)} sentences={found.words} />
                </div>
              )}
            </Card>
          </div>
        )
      }
    </Read>
  )
}
