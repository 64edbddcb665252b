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
  ...{ draining: false, projects: 3, last_seen: '2026-03-07T10:00:00.000Z', moves: [aMove] },
}

export const serverAnswers = {
  listServers: () => ({
    servers: [aServer, { ...aServer, name: 'server-2', reachable: false, draining: true, moves: [] }],
  }),
  moveProject: () => ({ server: 'server-1', move: aMove }),
  cancelMove: () => ({ server: 'server-1', move: { ...aMove, phase: 'failed' as const, error: 'It was cancelled.' } }),
  drainServer: ({ body }: { body: unknown }) => ({ name: 'server-1', draining: !(body as { off: boolean }).off }),
}
