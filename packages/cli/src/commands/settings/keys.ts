/** Settings by name. Those of a project's `settings` are whatever the server answers with, so a newer one needs no newer client. */
import { sizeText } from '@svc/contract/quotas'
import { UsageError } from '../../errors.ts'
import { closest } from '@svc/contract/closest'
import type { Project } from '../../wire.ts'

export const ownKeys = ['name', 'default_branch', 'git_username', 'git_token'] as const
type OwnKey = (typeof ownKeys)[number]

/** What each is for, where this client knows it. */
export const meaning: Record<string, string> = {
  name: 'what the project is called',
  default_branch: 'where work lands',
  git_username: 'user name at the git host',
  git_token: 'credential of the git host; never shown',
  agent_merge: 'whether agents may merge into the default branch: deny, allow',
  model_tokens_per_session: 'tokens of models that one session may use; none: no cap',
  model_tokens_per_month: 'tokens of models that the project may use in a month; none: no cap',
  session_depth_max: 'how deep agents start sessions that start sessions',
  session_descendants_max: 'living sessions that agents started from one first session',
  session_starts_per_hour_max: 'sessions that agents start from one first session within an hour',
  webhook_sessions_max: 'living sessions that one webhook trigger started',
  webhook_fires_per_hour_max: 'sessions that one webhook trigger starts within an hour',
  quota_repository_bytes: 'what the repository may take, like 2GiB or 512MiB; none: the quota of the server',
  quota_push_bytes: 'what one push may take, like 200MiB; none: the quota of the server',
  quota_unfinished_work_bytes: 'what the unfinished work of one session may take',
  quota_transcript_bytes: 'what the transcript of one session may take',
  quota_check_log_bytes: 'what is kept of the log of one check',
  quota_app_archive_bytes: 'what the files of an app or a check may take',
  quota_sessions_bytes: 'what transcripts, unfinished work and check logs of all sessions may take',
  manifest_gate: 'whether a broken svc.toml is refused at merge: off, on',
}

/** A value as a person reads it. */
export function shownValue(key: string, value: unknown): string {
  if (isQuota(key)) return typeof value === 'number' ? sizeText(value) : "default (the server's quota)"
  if (value === null) return key.startsWith('model_tokens_') ? 'no limit' : 'default'
  return typeof value === 'string' ? value : JSON.stringify(value)
}

export function isQuota(key: string): boolean {
  return /^quota_\w+_bytes$/.test(key)
}

export function isOwnKey(key: string): key is OwnKey {
  return (ownKeys as readonly string[]).includes(key)
}

export function requireKey(project: Project, key: string): void {
  const known = [...ownKeys, ...Object.keys(project.settings)]
  if (known.includes(key)) return
  const meant = closest(key, known)
  throw new UsageError(
    `There is no setting ${JSON.stringify(key)}${meant === null ? '' : `. Did you mean ${meant}?`}`,
    {
      hint: `There are: ${known.join(', ')}.`,
      next: [meant === null ? 'svc settings ls' : `svc settings set ${meant}=<value>`],
    },
  )
}
