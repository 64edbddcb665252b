/** The reach of sandbox tokens through HTTP entries outside the contract, and the probes of session routes. */

/** HTTP entries outside the contract, and how each treats sessions. `session`: `allow` checks the session id. */
export const entries: Record<string, 'none' | 'session' | 'own token'> = {
  '/*': 'none',
  '/v1/openapi.json': 'none',
  // A bound token and a clone credential can only push the branch of their own session.
  '/v1/projects/:projectId/git/info/refs': 'own token',
  '/v1/projects/:projectId/git/git-upload-pack': 'own token',
  '/v1/projects/:projectId/git/git-receive-pack': 'own token',
  // Inside a sandbox it requires the caller's token; the new session is its descendant.
  '/v1/projects/:projectId/triggers/:slug/webhook': 'own token',
  '/v1/peer/server': 'none',
  '/v1/peer/projects/:projectId/git/info/refs': 'none',
  '/v1/peer/projects/:projectId/git/git-upload-pack': 'none',
  '/v1/peer/projects/:projectId/manifest': 'none',
  '/v1/replicas/:id': 'none',
  '/v1/replicas/:id/objects': 'none',
  '/v1/replicas/:id/files': 'none',
  '/v1/replicas/:id/fill': 'none',
  '/v1/replicas/:id/promote': 'none',
  '/v1/channels/slack/:projectId/events': 'none',
  '/v1/channels/slack/:projectId/interactions': 'none',
  '/v1/llm/chat/completions': 'own token',
  '/v1/llm/messages': 'own token',
  '/v1/llm/v1/messages': 'own token',
  '/v1/llm/models': 'own token',
  // The tools that show sessions are list_sessions (like the route) and show_session.
  '/v1/mcp': 'session',
  '/v1/sandboxes/:id/*': 'session',
  '/v1/p/:id/*': 'session',
  '/install': 'none',
  '/install/install.sh': 'none',
  '/install/SHA256SUMS': 'none',
  '/install/:file': 'none',
  '/': 'none',
  '/sign-in': 'none',
  '/authorize': 'none',
  '/invitations': 'none',
  '/projects': 'none',
  '/projects/*': 'none',
  '/settings/*': 'none',
  '/account/*': 'none',
  '/link-chat': 'none',
  '/metrics': 'none',
  '/assets/*': 'none',
  '/docs': 'none',
  '/docs/*': 'none',
}

/** The body for each route of `ofSession`. */
export const bodies: Record<string, object> = {
  updateSession: { name: 'renamed' },
  promptSession: { text: 'go on' },
  answerQuestion: { answer: 'once' },
  settleUnfinishedWork: { commit: '0'.repeat(40) },
}

/** These change their session, so each gets sessions of its own. */
export const ends = ['restartSession', 'stopSession', 'deleteSession']
