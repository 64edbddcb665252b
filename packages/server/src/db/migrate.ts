import pg from 'pg'
import start from './migrations/0001_start.sql' with { type: 'text' }
import signIn from './migrations/0002_sign_in.sql' with { type: 'text' }
import warmSandboxes from './migrations/0003_warm_sandboxes.sql' with { type: 'text' }
import reviews from './migrations/0004_reviews.sql' with { type: 'text' }
import unfinishedWork from './migrations/0005_unfinished_work.sql' with { type: 'text' }
import projectSshKeys from './migrations/0006_project_ssh_keys.sql' with { type: 'text' }
import busySessions from './migrations/0007_busy_sessions.sql' with { type: 'text' }
import triggers from './migrations/0008_triggers.sql' with { type: 'text' }
import messageTimes from './migrations/0009_message_times.sql' with { type: 'text' }
import instanceLocks from './migrations/0010_instance_locks.sql' with { type: 'text' }
import projectEvents from './migrations/0011_project_events.sql' with { type: 'text' }
import channels from './migrations/0012_channels.sql' with { type: 'text' }
import webhooks from './migrations/0013_webhooks.sql' with { type: 'text' }
import apps from './migrations/0014_apps.sql' with { type: 'text' }
import looks from './migrations/0015_looks.sql' with { type: 'text' }
import connectors from './migrations/0016_connectors.sql' with { type: 'text' }
import modelUsage from './migrations/0017_model_usage.sql' with { type: 'text' }
import identities from './migrations/0018_identities.sql' with { type: 'text' }
import rootKey from './migrations/0019_root_key.sql' with { type: 'text' }
import checks from './migrations/0020_checks.sql' with { type: 'text' }
import heads from './migrations/0021_heads.sql' with { type: 'text' }
import givenSecrets from './migrations/0022_given_secrets.sql' with { type: 'text' }
import sessionAncestors from './migrations/0023_session_ancestors.sql' with { type: 'text' }
import tokenBounds from './migrations/0024_token_bounds.sql' with { type: 'text' }
import invitations from './migrations/0025_invitations.sql' with { type: 'text' }
import quotas from './migrations/0026_quotas.sql' with { type: 'text' }
import signInLimits from './migrations/0027_sign_in_limits.sql' with { type: 'text' }
import prompts from './migrations/0028_prompts.sql' with { type: 'text' }
import sessionQuestions from './migrations/0029_session_questions.sql' with { type: 'text' }
import modelUpstream from './migrations/0030_model_upstream.sql' with { type: 'text' }
import agentSessionStarts from './migrations/0031_agent_session_starts.sql' with { type: 'text' }
import protectedBranches from './migrations/0032_protected_branches.sql' with { type: 'text' }
import attachments from './migrations/0033_attachments.sql' with { type: 'text' }
import deletedProjects from './migrations/0034_deleted_projects.sql' with { type: 'text' }
import spentSessionIds from './migrations/0035_spent_session_ids.sql' with { type: 'text' }
import sessionRefresh from './migrations/0036_session_refresh.sql' with { type: 'text' }
import sessionRequests from './migrations/0037_session_requests.sql' with { type: 'text' }

/** In order; never edited once released. Later ones only expand, so that an old and a new server can run side by side. */
const migrations: { version: number; name: string; sql: string }[] = [
  { version: 1, name: 'start', sql: start },
  { version: 2, name: 'sign-in', sql: signIn },
  { version: 3, name: 'warm sandboxes', sql: warmSandboxes },
  { version: 4, name: 'reviews', sql: reviews },
  { version: 5, name: 'unfinished work', sql: unfinishedWork },
  { version: 6, name: 'project ssh keys', sql: projectSshKeys },
  { version: 7, name: 'busy sessions', sql: busySessions },
  { version: 8, name: 'triggers', sql: triggers },
  { version: 9, name: 'message times', sql: messageTimes },
  { version: 10, name: 'instance locks', sql: instanceLocks },
  { version: 11, name: 'project events', sql: projectEvents },
  { version: 12, name: 'channels', sql: channels },
  { version: 13, name: 'webhooks', sql: webhooks },
  { version: 14, name: 'apps', sql: apps },
  { version: 15, name: 'looks', sql: looks },
  { version: 16, name: 'connectors', sql: connectors },
  { version: 17, name: 'model usage', sql: modelUsage },
  { version: 18, name: 'identities', sql: identities },
  { version: 19, name: 'root key', sql: rootKey },
  { version: 20, name: 'checks', sql: checks },
  { version: 21, name: 'heads', sql: heads },
  { version: 22, name: 'given secrets', sql: givenSecrets },
  { version: 23, name: 'session ancestors', sql: sessionAncestors },
  { version: 24, name: 'token bounds', sql: tokenBounds },
  { version: 25, name: 'invitations', sql: invitations },
  { version: 26, name: 'quotas', sql: quotas },
  { version: 27, name: 'sign-in limits', sql: signInLimits },
  { version: 28, name: 'prompts', sql: prompts },
  { version: 29, name: 'session questions', sql: sessionQuestions },
  { version: 30, name: 'model upstream', sql: modelUpstream },
  { version: 31, name: 'agent session starts', sql: agentSessionStarts },
  { version: 32, name: 'protected branches', sql: protectedBranches },
  { version: 33, name: 'attachments', sql: attachments },
  { version: 34, name: 'deleted projects', sql: deletedProjects },
  { version: 35, name: 'spent session ids', sql: spentSessionIds },
  { version: 36, name: 'session refresh', sql: sessionRefresh },
  { version: 37, name: 'session requests', sql: sessionRequests },
]

/** An arbitrary number, the same in every version of the program. The migrating process holds it. */
const migrationLock = 7_346_201

export class NewerDatabaseError extends Error {
  constructor(found: number, known: number) {
    super(
      `The data was written by a newer svc (its tables are at version ${found}, this program supports ${known}). Nothing was changed. Update svc, or start it with another SVC_DATA_DIR.`,
    )
    this.name = 'NewerDatabaseError'
  }
}

/** Migrates under a lock, each migration in a transaction of its own. Throws NewerDatabaseError before it touches anything. */
export async function migrate(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query('select pg_advisory_lock($1)', [migrationLock])
    const found = await currentVersion(client)
    const known = migrations.at(-1)?.version ?? 0
    if (found > known) throw new NewerDatabaseError(found, known)
    for (const migration of migrations.filter(({ version }) => version > found)) await apply(client, migration)
  } finally {
    await client.end()
  }
}

async function currentVersion(client: pg.Client): Promise<number> {
  await client.query(
    'create table if not exists schema_migrations (version integer primary key, name text not null, applied_at timestamptz(3) not null default now())',
  )
  const { rows } = await client.query<{ version: number | null }>(
    'select max(version) as version from schema_migrations',
  )
  return rows[0]?.version ?? 0
}

async function apply(client: pg.Client, migration: { version: number; name: string; sql: string }): Promise<void> {
  await client.query('begin')
  try {
    await client.query(migration.sql)
    await client.query('insert into schema_migrations (version, name) values ($1, $2)', [
      migration.version,
      migration.name,
    ])
    await client.query('commit')
  } catch (error) {
    await client.query('rollback')
    throw error
  }
}
