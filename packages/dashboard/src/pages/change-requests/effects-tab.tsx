import { Read } from '../../components/requests.tsx'
import { type ChangeRequest, type Effects, effects } from './queries.ts'
import { Card, Empty } from '../../ui/layout.tsx'
import { EffectRows, shownDetails } from './merge/effect-rows.tsx'
import { AddedSecrets } from './merge/merge-notices.tsx'
import { ManifestIssues } from '../../components/manifest-issues.tsx'

/** What a merge does beyond code. What a person decides about it is in the panel. */
export function EffectsTab({ cr }: { cr: ChangeRequest }) {
  if (cr.status === 'closed') return <Empty>No effects: this change request was closed without a merge.</Empty>
  const isMerged = cr.status === 'merged'
  // A trigger may have changed since.
  const details = (found: Effects) =>
    shownDetails(found).map((each) => (isMerged ? { ...each, next_fire_at: [] } : each))
  return (
    <Read query={{ ...effects(cr), enabled: true }} what="the effects">
      {(found) =>
        found === undefined || !found.applies ? (
          <Empty>
            No effects: this change request {isMerged ? "didn't" : "doesn't"} merge into the default branch.
          </Empty>
        ) : (
          <div className="flex flex-col gap-4">
            <AddedSecrets effects={found} />
            <ManifestIssues bySeverity issues={found.manifest_issues} />
            <Card title={isMerged ? 'What the merge changed' : 'After the merge'}>
              {shownDetails(found).length === 0 ? (
                <Empty>Only code changes.</Empty>
              ) : (
                <div className="px-4 py-3">
                  <EffectRows details={details(found)} sentences={found.words} />
                </div>
              )}
            </Card>
          </div>
        )
      }
    </Read>
  )
}
