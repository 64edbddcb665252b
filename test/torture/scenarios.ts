/** The scenario of every failpoint in the sources; failpoints.test.ts fails for a name that is missing here. */

export interface Scenario {
  /** `merges` and `sandboxes`: those tortures kill here. The others are separate tests. */
  by:
    | 'merges'
    | 'projects'
    | 'sessions'
    | 'sandboxes'
    | 'triggers'
    | 'events'
    | 'apps'
    | 'keys'
    | 'checks'
    | 'moves'
    | 'copies'
    | 'databases'
    /** change-requests/branches/delete-merged.test.ts. */
    | 'branches'
    /** test/e2e/backup.test.ts, backup-kill.test.ts, bucket-backup.test.ts and file-backup.test.ts. */
    | 'backups'
  /** The other failpoints that lead here. */
  beside?: string
  /** An external client pushes to the base meanwhile. */
  outside?: true
  /** A server has to die there first, since only what it leaves leads here. */
  after?: string
  /** Reached only by a server that starts sandboxes. */
  sandboxes?: true
}

export const scenarios: Record<string, Scenario> = {
  'open.after_tips': { by: 'merges' },
  'open.before_row': { by: 'merges' },
  'open.after_row': { by: 'merges' },
  'merge.before_lock': { by: 'merges' },
  'merge.after_reconcile': { by: 'merges' },
  'merge.after_tips': { by: 'merges' },
  'merge.after_objects': { by: 'merges' },
  'merge.after_plan': { by: 'merges' },
  'merge.before_intent': { by: 'merges' },
  'merge.after_intent': { by: 'merges' },
  'merge.before_push': { by: 'merges' },
  'merge.after_push': { by: 'merges' },
  'merge.before_abandon': { by: 'merges', beside: 'merge.before_push=delay:200', outside: true },
  'merge.before_keep': { by: 'merges' },
  'merge.after_keep': { by: 'merges' },
  'merge.before_row': { by: 'merges' },
  'merge.after_row': { by: 'merges' },
  'merge.before_answer': { by: 'merges' },
  'reconcile.before_poll': { by: 'merges', after: 'merge.after_intent' },
  'reconcile.after_poll': { by: 'merges', after: 'merge.after_push' },
  'idempotency.after_claim': { by: 'merges' },
  'idempotency.before_keep': { by: 'merges' },
  'idempotency.after_keep': { by: 'merges' },
  'idempotency.before_release': { by: 'merges' },
  'project.create.before_repository': { by: 'projects' },
  'project.create.after_repository': { by: 'projects' },
  'project.create.before_row': { by: 'projects' },
  'project.create.after_row': { by: 'projects' },
  'project.delete.before_row': { by: 'projects' },
  'project.delete.after_row': { by: 'projects' },
  'project.restore.before_row': { by: 'projects' },
  'project.restore.after_row': { by: 'projects' },
  'project.purge.after_mark': { by: 'projects' },
  'project.purge.before_row': { by: 'projects' },
  'project.purge.after_row': { by: 'projects' },
  'session.create.before_row': { by: 'sessions' },
  'session.create.after_row': { by: 'sessions' },
  'session.create.after_branch': { by: 'sessions' },
  'session.reconcile.before_row': { by: 'sessions' },
  'session.reconcile.after_row': { by: 'sessions' },
  'session.provision.after_branch': { by: 'sessions', sandboxes: true },
  'session.provision.after_claim': { by: 'sessions', sandboxes: true },
  'session.restart.before_row': { by: 'sessions' },
  'session.restart.after_row': { by: 'sessions' },
  'session.stop.after_wish': { by: 'sessions' },
  'session.stop.after_sandbox': { by: 'sessions' },
  'session.delete.before_row': { by: 'sessions' },
  'session.delete.after_row': { by: 'sessions' },
  'session.claim.before_daemon': { by: 'sandboxes' },
  'session.claim.after_daemon': { by: 'sandboxes' },
  'session.refresh.after_row': { by: 'sandboxes' },
  'session.refresh.after_daemon': { by: 'sandboxes' },
  'warm.fill.after_row': { by: 'sandboxes' },
  'warm.fill.after_sandbox': { by: 'sandboxes' },
  'warm.fill.before_ready': { by: 'sandboxes' },
  'trigger.after_claim': { by: 'triggers' },
  'trigger.after_session': { by: 'triggers' },
  'trigger.after_fired': { by: 'triggers' },
  'webhook.after_lease': { by: 'events' },
  'webhook.before_send': { by: 'events' },
  'webhook.after_send': { by: 'events' },
  'webhook.after_row': { by: 'events' },
  'app.deploy.after_claim': { by: 'apps' },
  'app.deploy.after_sandbox': { by: 'apps' },
  'app.deploy.after_files': { by: 'apps' },
  'app.deploy.before_switch': { by: 'apps' },
  'app.deploy.after_switch': { by: 'apps' },
  'rotate.after_batch': { by: 'keys' },
  'rotate.after_key': { by: 'keys' },
  'rotate.after_wrap': { by: 'keys' },
  'rotate.after_file': { by: 'keys' },
  'rotate.before_retire': { by: 'keys' },
  'rotate.after_retire': { by: 'keys' },
  'move.after_close': { by: 'moves' },
  'move.after_freeze': { by: 'moves' },
  'move.after_pass': { by: 'moves' },
  'move.after_switch': { by: 'moves' },
  'move.before_close': { by: 'moves' },
  'move.before_freeze': { by: 'moves' },
  'move.before_last_pass': { by: 'moves' },
  'move.before_switch': { by: 'moves' },
  'promote.after_row': { by: 'copies' },
  'promote.before_files': { by: 'copies' },
  'promote.before_row': { by: 'copies' },
  'refs.after_record': { by: 'copies' },
  'refs.before_copy': { by: 'copies' },
  'refs.before_record': { by: 'copies' },
  'replica.after_fill': { by: 'copies' },
  'replica.after_objects': { by: 'copies' },
  'replica.after_send': { by: 'copies' },
  'replica.before_fill': { by: 'copies' },
  'replica.before_objects': { by: 'copies' },
  'replica.before_refs': { by: 'copies' },
  'replica.before_send': { by: 'copies' },
  'backup.after_tables': { by: 'backups' },
  'backup.after_pack': { by: 'backups' },
  'backup.after_part': { by: 'backups' },
  'backup.after_state': { by: 'backups' },
  'backup.before_manifest': { by: 'backups' },
  'backup.before_rename': { by: 'backups' },
  'restore.after_database': { by: 'backups' },
  'restore.after_rows': { by: 'backups' },
  'restore.before_commit': { by: 'backups' },
  'restore.after_repositories': { by: 'backups' },
  'branches.after_claim': { by: 'branches' },
  'branches.after_refs': { by: 'branches' },
  'database.after_copy': { by: 'databases' },
  'database.after_mark': { by: 'databases' },
  'database.after_tables': { by: 'databases' },
  'database.before_commit': { by: 'databases' },
  'database.before_rows': { by: 'databases' },
  'check.after_claim': { by: 'checks' },
  'check.after_sandbox': { by: 'checks' },
  'check.after_files': { by: 'checks' },
  'check.before_end': { by: 'checks' },
  'check.after_end': { by: 'checks' },
}

export function pointsOf(by: Scenario['by']): string[] {
  return Object.keys(scenarios).filter((name) => scenarios[name]!.by === by)
}
