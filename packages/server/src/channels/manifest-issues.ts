/** The issues of `channels` in svc.toml on the default branch. */
import { channelEvents, type ManifestIssue } from '@svc/contract'
import type { Deps } from '../deps.ts'
import { currentManifest, getDefaultBranch } from '../projects/default-branch.ts'
import type { ProjectRow } from '../projects/store.ts'

/** Refreshes the branch first, so that a merge from a second ago shows. If the host is unavailable, the last known state is shown. */
export async function channelErrors(
  deps: Pick<Deps, 'config' | 'db' | 'keyring' | 'now' | 'log'>,
  project: ProjectRow,
  signal: AbortSignal,
): Promise<ManifestIssue[]> {
  await currentManifest(deps, project, signal)
  const seen = await getDefaultBranch(deps.db, project.project_id)
  if (seen === null) return []
  const ofManifest = seen.issues.filter(({ path }) => /^channels(\.|$)/.test(path))
  const unknown = seen.manifest.channels.flatMap(({ events }, index) =>
    events
      .filter((event) => !event.endsWith('*') && !channelEvents.some((known) => known === event))
      .map((event) => ({
        path: `channels.${index}.events`,
        message: `names the unknown event ${event}; known events are ${channelEvents.join(', ')}`,
        severity: 'warning' as const,
        line: null,
        column: null,
      })),
  )
  return [...ofManifest, ...unknown]
}
