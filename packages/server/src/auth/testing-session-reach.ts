/** What the token of a sandbox reaches, by session. Written by hand: a route or an HTTP entry that is not named here fails matrix.test.ts. */

/** Routes whose path names a session: the answer for the caller's own session and for one it started. For any other session it is 403. */
export const ofSession: Record<string, number> = {
  getSession: 200,
  updateSession: 200,
  promptSession: 202,
  abortSession: 200,
  listQuestions: 200,
  // People answer agents, so no session's token does: not its own, and not those of sessions it started.
  answerQuestion: 403,
  getTranscript: 200,
  listPrompts: 200,
  getTimeline: 200,
  streamSessionEvents: 200,
  sessionUsage: 200,
  getPreview: 200,
  getUnfinishedWork: 200,
  saveUnfinishedWork: 200,
  bundleUnfinishedWork: 404,
  recoverUnfinishedWork: 404,
  settleUnfinishedWork: 200,
  restartSession: 202,
  stopSession: 200,
  deleteSession: 200,
}

/** Routes that list or show what several sessions did. Other sessions are absent, or without what leads into them. */
export const acrossSessions = [
  'listSessions',
  'listUnfinishedWork',
  'projectUsage',
  'streamProjectEvents',
  'getConnector',
  'listConnectorApprovals',
]

/** Routes that start a session: with the token of a sandbox it is a descendant. */
export const startsSession = ['createSession', 'fireTrigger']

/** Routes that refuse the token of every sandbox. */
export const forPeople = [
  ...[
    'getMe',
    'listAccounts',
    'createAccount',
    'updateAccount',
    'listMembers',
    'addMember',
    'changeRole',
    'removeMember',
    'listAudit',
    'accountUsage',
    'capAccountUsage',
  ],
  ...['getModelUpstream', 'setModelUpstream', 'clearModelUpstream'],
  ...['listInvitations', 'linkInvitation', 'revokeInvitation', 'listReceivedInvitations', 'acceptInvitation'],
  ...['confirmSignIn', 'listNotices', 'dismissNotices'],
  ...['createOwnerLink', 'getPassword', 'setPassword', 'listDashboardSessions', 'endDashboardSession'],
  ...['mintUserToken', 'listUserTokens', 'revokeUserToken', 'approveCliLogin', 'createProject', 'listProjects'],
  ...['updateProject', 'deleteProject', 'createReview', 'setConnectorPolicy', 'decideConnectorApproval'],
  ...['connectChannel', 'editChannel', 'disconnectChannel', 'testChannel'],
  ...['claimLinkCode', 'linkChatUser', 'listChannelLinks', 'unlinkChatUser'],
  ...['listWebhooks', 'createWebhook', 'updateWebhook', 'deleteWebhook', 'listDeliveries', 'redeliver', 'pingWebhook'],
  ...['getHostWebhook', 'rotateHostWebhook'],
]

/** Routes that reach no session: they are the project's, or look at no token. Tokens are those of the caller's own session. */
export const reachesNone = [
  ...['getHealth', 'getReady', 'getSignInMethods', 'signInWithOwnerLink', 'signInWithPassword', 'signOut'],
  'readInvitation',
  ...['redeemCliLogin', 'whoAmI', 'mintProjectToken', 'listProjectTokens', 'revokeProjectToken'],
  ...['getProject', 'validateManifest', 'getCloneCredential', 'listModels'],
  ...['listBranches', 'listCommits', 'listTree', 'getFile', 'compareRefs'],
  ...['listSecrets', 'setSecret', 'deleteSecret'],
  ...['listChangeRequests', 'openChangeRequest', 'getChangeRequest', 'editChangeRequest', 'diffChangeRequest'],
  ...['previewChangeRequest', 'verifyChangeRequest', 'mergeChangeRequest', 'closeChangeRequest', 'reopenChangeRequest'],
  ...['getPullRequest', 'openPullRequest'],
  ...['getChecks', 'rerunChecks', 'readCheckLog', 'listReviews'],
  ...['listTriggers', 'getTrigger', 'enableTrigger', 'disableTrigger'],
  ...['listChannels', 'getChannel'],
  ...['listApps', 'getApp', 'deployApp', 'stopApp', 'rollbackApp', 'openApp', 'readAppLogs'],
  ...['listConnectors', 'checkConnector'],
]

/** HTTP entries that are no routes of the contract, and what each does about sessions. `session`: judged by `allow` with the session's id. */
export const entries: Record<string, 'none' | 'session' | 'own token'> = {
  '/*': 'none',
  '/v1/openapi.json': 'none',
  // A bound token and a clone credential push the branch of their own session alone.
  '/v1/projects/:projectId/git/info/refs': 'own token',
  '/v1/projects/:projectId/git/git-upload-pack': 'own token',
  '/v1/projects/:projectId/git/git-receive-pack': 'own token',
  // From inside a sandbox it takes the token of the caller, whose descendant the new session is.
  '/v1/projects/:projectId/triggers/:slug/webhook': 'own token',
  '/v1/channels/slack/:projectId/events': 'none',
  '/v1/channels/slack/:projectId/interactions': 'none',
  '/v1/llm/chat/completions': 'own token',
  '/v1/llm/messages': 'own token',
  '/v1/llm/v1/messages': 'own token',
  '/v1/llm/models': 'own token',
  // Its tools that show sessions are list_sessions (as the route) and show_session.
  '/v1/mcp': 'session',
  '/v1/sandboxes/:sandboxId/*': 'session',
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
}

/** What each route of `ofSession` is sent. */
export const bodies: Record<string, object> = {
  updateSession: { name: 'renamed' },
  promptSession: { text: 'go on' },
  answerQuestion: { answer: 'once' },
  settleUnfinishedWork: { commit: '0'.repeat(40) },
}

/** After these the session is not what it was, so each is tried on sessions of its own. */
export const ends = ['restartSession', 'stopSession', 'deleteSession']
