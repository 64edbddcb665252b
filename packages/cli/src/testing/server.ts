import { ids } from './ids.ts'

const aMove = {
  move_id: '77777777-7777-4777-8777-777777777777',
  project_id: ids.project,
  project_slug: 'website',
  ...{ from: 'server-1', to: 'server-2', phase: 'copied' as const, cause: 'request' as const, force: false },
  ...{ waits_for: 'The agent of session 22222222 is working.', error: null },
  ...{ requested_at: '2026-03-07T10:00:00.000Z', ended_at: null },
}

const aServer = {
  ...{ name: 'server-1', peer_url: 'http://10.0.0.7:8420', running: true, reachable: null, keeps_projects: true },
  ...{ sandboxes: 'ready', sandbox_problem: null, clock_ahead_seconds: null, disk_low: false, different_settings: [] },
  ...{
    draining: false,
    projects: 3,
    copies: 2,
    copies_to_move: 0,
    unmovable: [],
    last_seen: '2026-03-07T10:00:00.000Z',
    moves: [aMove],
  },
}

export const serverAnswers = {
  getProjectHome: () => ({ server: null, move: null }),
  getStorage: () => ({
    server: null,
    disk: { total_bytes: 100 * 1024 ** 3, free_bytes: 61 * 1024 ** 3, min_free_bytes: 2 * 1024 ** 3 },
    database_bytes: 512 * 1024 ** 2,
    folders: [{ kind: 'logs' as const, path: '/srv/svc/log', bytes: 3 * 1024 ** 2 }],
    kept: [
      {
        ...{ kind: 'events', setting: 'SVC_KEEP_EVENTS', keep_days: 30, rows: 1200, bytes: 4 * 1024 ** 2 },
        oldest_at: '2030-01-01T00:00:00.000Z',
      },
      { kind: 'audit', setting: 'SVC_KEEP_AUDIT', keep_days: null, rows: 0, bytes: 8192, oldest_at: null },
    ],
    projects: [
      {
        ...{ project_id: ids.project, slug: 'website', server: null, repository_bytes: 40 * 1024 ** 2 },
        ...{ unfinished_work_bytes: 0, transcript_bytes: 2 * 1024 ** 2, check_log_bytes: 1024 },
        deleted: true,
      },
    ],
  }),
  listServers: () => ({
    servers: [aServer, { ...aServer, name: 'server-2', reachable: false, draining: true, moves: [] }],
  }),
  moveProject: () => ({ server: 'server-1', move: aMove }),
  cancelMove: () => ({ server: 'server-1', move: { ...aMove, phase: 'failed' as const, error: 'It was cancelled.' } }),
  drainServer: ({ body }: { body: unknown }) => ({ name: 'server-1', draining: !(body as { off: boolean }).off }),
}
