/** Settings by name. The `settings` object is whatever the server returns, so new settings need no client update. */
import type { Project } from '@svc/sdk'
import { sizeText } from '@svc/contract/schemas/quotas'
import { UsageError } from '../../errors.ts'
import { closest } from '@svc/contract/schemas/closest'

export const ownKeys = ['name', 'default_branch', 'git_username', 'git_token'] as const
type OwnKey = (typeof ownKeys)[number]

export const meaning: Record<string, string> = {
  name: 'name of the project',
  default_branch: 'branch that change requests merge into by default',
  git_username: 'user name on the git host',
  git_token: 'credential of the git host; never shown',
  agent_merge: 'whether agents may merge into the default branch: deny, allow',
  model_tokens_per_session: 'model tokens that one session may use; none: no cap',
  model_tokens_per_month: 'model tokens that the project may use in a month; none: no cap',
  session_depth_max: 'how many levels of sessions agents may start',
  session_descendants_max: 'live sessions that agents start from one first session',
  session_starts_per_hour_max: 'sessions that agents start from one first session within an hour',
  webhook_sessions_max: 'live sessions that one webhook trigger starts',
  webhook_fires_per_hour_max: 'sessions that one webhook trigger starts within an hour',
  quota_repository_bytes: "maximum size of the repository, like 2GiB or 512MiB; none: the server's quota",
  quota_push_bytes: "maximum size of one push, like 200MiB; none: the server's quota",
  quota_unfinished_work_bytes: 'maximum size of the unfinished work of one session',
  quota_transcript_bytes: 'maximum size of the transcript of one session',
  quota_check_log_bytes: 'maximum size of the stored log of one check',
  quota_app_archive_bytes: 'maximum size of the files of an app or a check',
  quota_sessions_bytes: 'maximum size of transcripts, unfinished work and check logs of all sessions',
  manifest_gate: 'refuse to merge a broken svc.toml: off, on',
}

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
      hint: `Settings: ${known.join(', ')}.`,
      next: [meant === null ? 'svc settings ls' : `svc settings set ${meant}=<value>`],
    },
  )
}
