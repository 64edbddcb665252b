/** What may become of a session. Without a schema, so that the pages read it too. */
/** `stop` of a session that is not alive changes nothing and is no error. */
export const sessionMoves = {
  stop: { from: ['provisioning', 'running', 'stopped', 'failed'], to: 'stopped' },
  restart: { from: ['running', 'stopped', 'failed'], to: 'provisioning' },
} as const
