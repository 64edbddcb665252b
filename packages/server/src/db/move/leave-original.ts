/** Takes out of a restored database what tells about the servers of the original, which do not run here. */
import type pg from 'pg'

const statements = [
  'delete from server_instances',
  'delete from project_replicas',
  'delete from copy_failures',
  `update project_moves set phase = 'failed', error = 'The data were restored from a backup.', ended_at = now(), phase_at = now()
    where phase not in ('done', 'failed')`,
  // The server that starts on the data becomes the home of every project.
  `update projects set home = null, home_state = 'open'`,
  'delete from servers',
  'delete from warm_sandboxes',
]

export async function leaveOriginal(client: pg.Client): Promise<void> {
  for (const statement of statements) await client.query(statement)
}
