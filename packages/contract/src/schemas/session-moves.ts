/** Status changes of a session. Loads no zod: the pages use it too. */
/** Stopping a session that is not live changes nothing and is not an error. */
export const sessionMoves = {
  stop: { from: ['provisioning', 'running', 'stopped', 'failed'], to: 'stopped' },
  refresh: { from: ['running'], to: 'running' },
  restart: { from: ['running', 'stopped', 'failed'], to: 'provisioning' },
} as const
