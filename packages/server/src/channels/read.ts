/** What svc.toml on the default branch says of channels, as it is at this moment, and what is wrong with it. */
import { channelEvents, type ManifestIssue } from '@svc/contract'
import type { Deps } from '../deps.ts'
import { getDefaultBranch, noticeDefaultBranch } from '../projects/default-branch.ts'
import type { ProjectRow } from '../projects/store.ts'

/** Looks at the branch first, as a merge a second ago is expected to show. A host that is away is no reason to show nothing. */
export async function channelErrors(
  deps: Pick<Deps, 'config' | 'db' | 'keyring' | 'now' | 'log'>,
  project: ProjectRow,
  signal: AbortSignal,
): Promise<ManifestIssue[]> {
  try {
    await noticeDefaultBranch(deps, project, signal)
  } catch (error) {
    deps.log.debug({ err: error, project_id: project.project_id }, 'channels are shown as they were last seen')
  }
  const seen = await getDefaultBranch(deps.db, project.project_id)
  if (seen === null) return []
  const ofManifest = seen.issues.filter(({ path }) => /^channels(\.|$)/.test(path))
  const unknown = seen.manifest.channels.flatMap(({ events }, index) =>
    events
      .filter((event) => !event.endsWith('*') && !channelEvents.some((known) => known === event))
      .map((event) => ({
        path: `channels.${index}.events`,
        message: `names ${event}, which nothing tells: there are ${channelEvents.join(', ')}`,
        severity: 'warning' as const,
        line: null,
        column: null,
      })),
  )
  return [...ofManifest, ...unknown]
}
