/** Describes what each POST without `Idempotency-Key` does when a client sends it again after a lost answer. The API document shows it. */

const secret = 'The response contains a secret that is shown once and not stored.'
const once = 'The code works once: a second request is refused.'
const same = 'A second request changes nothing.'
const again = `${secret} A second request creates another token: revoke the one whose response was lost.`

export const repetitions: Readonly<Record<string, string>> = {
  abortSession: 'A second request aborts the turn that runs then.',
  acceptInvitation: once,
  addMember: 'A second request for the same address and role returns the same invitation.',
  answerQuestion: 'A question is answered once: a second request gets 409.',
  approveCliLogin: `${secret} A second request creates another code; each works once, within a minute.`,
  checkConnector: 'A second request reads the tools again.',
  claimLinkCode: 'A second request of the same caller gets the same answer.',
  closeChangeRequest: same,
  confirmSignIn: same,
  connectChannel: 'A second request for the same conversation returns the same channel.',
  createOwnerLink: `${secret} A second request creates another link; each works once and expires.`,
  decideConnectorApproval: 'A call is decided once: a second request gets 409.',
  dismissNotices: same,
  linkChatUser: once,
  linkInvitation: `${secret} A second request creates a new link, and the earlier one stops working.`,
  drainServer: same,
  mintProjectToken: again,
  mintUserToken: again,
  moveProject: 'A second request gets 409, as the project is moving, unless it has `force` and the move has not.',
  readInvitation: same,
  recoverUnfinishedWork: 'A second request tries to apply the same work again.',
  redeemCliLogin: once,
  takeOverServer: 'A second request takes over what is left.',
  refreshSession: 'A second request while a refresh waits or runs adds one more refresh after it.',
  reopenChangeRequest: 'A second request gets 409: the change request is open.',
  rerunChecks: 'A second request keeps the checks that wait or run, and runs those that have ended again.',
  restoreProject: 'A second request gets 409: the project is not deleted.',
  restartSession: 'A second request gets 409 while the session starts, and restarts a session that runs.',
  saveUnfinishedWork: 'A second request saves the work as it is then.',
  setPassword: same,
  setSecret: 'A second request sets the same value.',
  settleUnfinishedWork: same,
  signInWithOwnerLink: once,
  signInWithPassword: 'A second request signs in again.',
  signOut: same,
  stopApp: same,
  stopSession: same,
  testChannel: 'A second request sends another message.',
  validateManifest: same,
}
