// Made by packages/contract/generate-api.ts from the routes; edit those.
export interface paths {
    "/v1/doctor": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Examine the server and what it needs
         * @description Its machine, database, sandboxes, model, hosts, and backups: the findings of `svc self-host doctor`, of the server that answers. Only for owners of the instance.
         */
        get: operations["examineServer"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/health": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Check that the server process answers
         * @description Answers as long as the process runs, without the database. Use it as a liveness probe.
         */
        get: operations["getHealth"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/ready": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Check that the server can serve requests
         * @description Answers `unavailable` (503) while the database or another needed part is down. The reply also reports whether sandboxes can start, which models and providers are configured, and whether the disk has room and the database accepts changes.
         */
        get: operations["getReady"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/projects/{projectId}/home/move": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Cancel the move of a project
         * @description The project stays at its home. Refused with `conflict` when no move is active, and in the seconds of the switch, which cannot be stopped.
         */
        delete: operations["cancelMove"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/servers/{serverName}/drain": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Move all projects away from a server, or end that
         * @description Only for owners of the first account. A server that is drained takes no projects, and a job moves its projects to other servers one after another, each when no agent works in it. `off` ends that; projects that have moved stay where they are.
         *
         *     Takes no Idempotency-Key. A second request changes nothing.
         */
        post: operations["drainServer"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/projects/{projectId}/home": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the server that keeps a project
         * @description The home of the project, and its last move.
         */
        get: operations["getProjectHome"];
        put?: never;
        /**
         * Move a project to another server
         * @description Answers at once; the move goes on in the background. The repository is copied while the project is used. Then its sandboxes end with their work saved, writes wait for some seconds, and sessions and apps start again at the other server. The move waits for agents that work, up to 30 minutes; with `force` their turns end. A second request with `force`, to the same server, forces a move that waits.
         *
         *     Takes no Idempotency-Key. A second request gets 409, as the project is moving, unless it has `force` and the move has not.
         */
        post: operations["moveProject"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/servers": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the servers of this database
         * @description Only for owners of the first account: servers that run or keep projects. `include=projects` adds where each project is, up to 5,000 of them.
         */
        get: operations["listServers"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/copies": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the projects whose repository has no usable copy elsewhere
         * @description With several servers, another server keeps a copy of each repository. Only owners of the instance may read this.
         */
        get: operations["listUncopiedProjects"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/servers/{serverName}/take-over": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Take over the projects of a server that is gone for good
         * @description Each project gets a new home with the copy of its repository. Refused with `conflict` while that server runs: until five seconds after the end of its process, or, where its machine is gone without closing its connections, 20 seconds after its last heartbeat. Only owners of the instance may do this. Repeat the request while `remaining` is not 0.
         *
         *     Takes no Idempotency-Key. A second request takes over what is left.
         */
        post: operations["takeOverServer"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/storage": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get what uses the disk and the database, and how long it is kept
         * @description Only for owners of the instance. The disk is that of the server that answers. Lists the projects that use the most.
         */
        get: operations["getStorage"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/accounts/{accountId}/members": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the members of an account
         * @description In the order in which they joined, each with a role.
         */
        get: operations["listMembers"];
        put?: never;
        /**
         * Invite a person by email address
         * @description The person joins when they accept, within seven days. The service sends no email: hand over `sign_in.url`. With an API token `sign_in` is null, and the link must be made in a browser.
         *
         *     Takes no Idempotency-Key. A second request for the same address and role returns the same invitation.
         */
        post: operations["addMember"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/accounts/{accountId}/members/{userId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Remove a member, or leave an account
         * @description The member's tokens no longer reach anything in the account. The last owner cannot be removed.
         */
        delete: operations["removeMember"];
        options?: never;
        head?: never;
        /**
         * Change the role of a member
         * @description Every token of the member is limited to the new role at once. The last owner cannot be changed.
         */
        patch: operations["changeRole"];
        trace?: never;
    };
    "/v1/accounts/confirm": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Confirm the password in this browser
         * @description Account changes ask for it when the last sign-in is more than ten minutes old: `confirmation_needed`.
         *
         *     Takes no Idempotency-Key. A second request changes nothing.
         */
        post: operations["confirmSignIn"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/accounts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the accounts of the caller
         * @description Oldest first.
         */
        get: operations["listAccounts"];
        put?: never;
        /**
         * Create an account
         * @description The caller becomes its owner. Only owners of the instance (of its first account) may do this.
         */
        post: operations["createAccount"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/accounts/owner-links": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Create a one-time sign-in link for the caller
         * @description Needs a browser session that gave its password or used single sign-on within the last ten minutes. An API token gets `forbidden`.
         *
         *     Takes no Idempotency-Key. The response contains a secret that is shown once and not stored. A second request creates another link; each works once and expires.
         */
        post: operations["createOwnerLink"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/accounts/dashboard-sessions/{dashboardSessionId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Sign a browser out of the dashboard
         * @description The next request of that browser fails.
         */
        delete: operations["endDashboardSession"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/accounts/me": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the user of this token
         * @description Also lists every account the user belongs to. `account` is the account they joined first.
         */
        get: operations["getMe"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/accounts/password": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get whether the caller can sign in with a password
         * @description Also returns the email address that goes with it.
         */
        get: operations["getPassword"];
        put?: never;
        /**
         * Set the email address and password of the caller
         * @description Only from the dashboard. Ends the caller's other dashboard sessions. Needs `current_password` when one is set, except shortly after signing in with an owner link.
         *
         *     Takes no Idempotency-Key. A second request changes nothing.
         */
        post: operations["setPassword"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/accounts/{accountId}/audit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List who changed what in an account
         * @description Newest first. Filter by project, action or user. `action` matches exactly, or by its noun: `change_request`.
         */
        get: operations["listAudit"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/accounts/dashboard-sessions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the browser sessions of the caller
         * @description Where the caller is signed in to the dashboard; `current` marks the session of this request.
         */
        get: operations["listDashboardSessions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sign-in": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the ways to sign in to the dashboard
         * @description `oidc` is the name of the single sign-on provider, or null. A browser starts it at `/sign-in/oidc`.
         */
        get: operations["getSignInMethods"];
        put?: never;
        /**
         * Sign in with the code of an owner link or an invitation
         * @description Sets the dashboard cookie. The code works once. The code of an invitation also creates the user.
         *
         *     Takes no Idempotency-Key. The code works once: a second request is refused.
         */
        post: operations["signInWithOwnerLink"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sign-in/password": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Sign in with email address and password
         * @description Sets the dashboard cookie. Failed attempts are limited by email address and by network address: `limit_reached` (429).
         *
         *     Takes no Idempotency-Key. A second request signs in again.
         */
        post: operations["signInWithPassword"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sign-out": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * End the dashboard session of this browser
         * @description Without a dashboard session, nothing happens.
         *
         *     Takes no Idempotency-Key. A second request changes nothing.
         */
        post: operations["signOut"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/accounts/{accountId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /**
         * Rename an account or change its plan
         * @description Owners and admins may rename an account. Only owners of the instance may change its plan.
         */
        patch: operations["updateAccount"];
        trace?: never;
    };
    "/v1/invitations/accept": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Accept an invitation
         * @description The signed-in person accepts in a browser: by the code of the link, or by id when the email address is verified.
         *
         *     Takes no Idempotency-Key. The code works once: a second request is refused.
         */
        post: operations["acceptInvitation"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/accounts/{accountId}/invitations/{invitationId}/link": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Create the one-time link of an invitation
         * @description Needs a browser that signed in within the last ten minutes. An earlier link stops working.
         *
         *     Takes no Idempotency-Key. The response contains a secret that is shown once and not stored. A second request creates a new link, and the earlier one stops working.
         */
        post: operations["linkInvitation"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/accounts/{accountId}/invitations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the pending invitations of an account
         * @description Newest first.
         */
        get: operations["listInvitations"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/invitations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the invitations the caller received
         * @description Only invitations to the email address that the single sign-on provider verified.
         */
        get: operations["listReceivedInvitations"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/invitations/read": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Read the invitation behind a code
         * @description Returns the account, the role and the inviter. The code is not used up.
         *
         *     Takes no Idempotency-Key. A second request changes nothing.
         */
        post: operations["readInvitation"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/accounts/{accountId}/invitations/{invitationId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Revoke a pending invitation
         * @description Its link stops working.
         */
        delete: operations["revokeInvitation"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/accounts/notices/dismiss": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Dismiss notices up to one
         * @description Only in a browser: a token cannot hide what it did.
         *
         *     Takes no Idempotency-Key. A second request changes nothing.
         */
        post: operations["dismissNotices"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/accounts/notices": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the notices of the caller
         * @description Tokens, links and invitations that were made in the caller's name since the last dismissal, newest first.
         */
        get: operations["listNotices"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/accounts/cli-logins": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Approve the sign-in of a command-line client
         * @description For the dashboard: the person clicks, and the client redeems the code within one minute.
         *
         *     Takes no Idempotency-Key. The response contains a secret that is shown once and not stored. A second request creates another code; each works once, within a minute.
         */
        post: operations["approveCliLogin"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/projects/{projectId}/cli-token": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the tokens of a project
         * @description Never their values.
         */
        get: operations["listProjectTokens"];
        put?: never;
        /**
         * Create a project token
         * @description Called with a token that is bound to a session, the answer is a token bound to the same session, which never outlives the caller's.
         *
         *     Takes no Idempotency-Key. The response contains a secret that is shown once and not stored. A second request creates another token: revoke the one whose response was lost.
         */
        post: operations["mintProjectToken"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/accounts/tokens": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the user tokens of the caller
         * @description Never their values.
         */
        get: operations["listUserTokens"];
        put?: never;
        /**
         * Create a user token
         * @description `secret_key` is in this answer only; the server stores its SHA-256. `expires_at` null means that the token does not expire.
         *
         *     Takes no Idempotency-Key. The response contains a secret that is shown once and not stored. A second request creates another token: revoke the one whose response was lost.
         */
        post: operations["mintUserToken"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/cli-logins/redeem": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Exchange the code of an approved sign-in
         * @description Works once and needs the verifier of the client that started the sign-in. The token in the answer lasts one minute and creates the user token.
         *
         *     Takes no Idempotency-Key. The code works once: a second request is refused.
         */
        post: operations["redeemCliLogin"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/projects/{projectId}/cli-token/{tokenId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Revoke a project token
         * @description The next request with it fails.
         */
        delete: operations["revokeProjectToken"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/accounts/tokens/{tokenId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Revoke a user token
         * @description The next request with it fails.
         */
        delete: operations["revokeUserToken"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/token": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the owner of this token
         * @description Works with every user and project token, also inside a sandbox.
         */
        get: operations["whoAmI"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/projects": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List projects
         * @description Newest first, from every account the caller belongs to. With `deleted=true`, the deleted projects that the caller can restore.
         */
        get: operations["listProjects"];
        put?: never;
        /**
         * Create a project
         * @description With `repo_url`, from an existing git repository; without it, with a new repository that this server hosts. Members, admins and owners of the account may; viewers may not. The server reads the repository first: `repository_refused` contains the answer of the host.
         */
        post: operations["createProject"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/projects/{projectId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get a project
         * @description The path takes the id or the slug. A slug that several accounts of the caller use is a `conflict`, and the answer lists the ids.
         */
        get: operations["getProject"];
        put?: never;
        post?: never;
        /**
         * Delete a project
         * @description The project can be restored for 30 days. `purge=true` deletes it permanently now; a project that is already deleted is purged by its id.
         */
        delete: operations["deleteProject"];
        options?: never;
        head?: never;
        /**
         * Change a project
         * @description Changes the name, the default branch, the settings, or the credential of the git host. A new credential is tested before it is saved.
         */
        patch: operations["updateProject"];
        trace?: never;
    };
    "/v1/projects/{projectId}/git/clone-credential": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get a git credential for the session branch
         * @description For sandboxes. The credential is valid for 15 minutes and may write only the branch of its session.
         */
        get: operations["getCloneCredential"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/projects/{projectId}/deletion": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Preview the deletion of a project
         * @description Counts the sessions, change requests and bytes that deletion stops and a purge removes.
         */
        get: operations["getProjectDeletion"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/projects/{projectId}/restore": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Restore a deleted project
         * @description The project gets its slug back, or the next free one.
         *
         *     Takes no Idempotency-Key. A second request gets 409: the project is not deleted.
         */
        post: operations["restoreProject"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/projects/{projectId}/manifest/validate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Validate a text as svc.toml
         * @description Nothing is stored. `issues` have line and column, counted from 1.
         *
         *     Takes no Idempotency-Key. A second request changes nothing.
         */
        post: operations["validateManifest"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/projects/{projectId}/blame": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show who last changed each line of a file
         * @description Ranges of lines with the commit that last changed them. For text files of at most 1 MiB whose path is UTF-8; others are 422.
         */
        get: operations["blameFile"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/projects/{projectId}/compare": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Compare two branches
         * @description Returns what a change request would contain: the merge result, the changed files, and at most 250 commits. `include=patch` adds the text of the changes.
         */
        get: operations["compareRefs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/projects/{projectId}/first-commit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Make the first commit of an empty repository
         * @description Commits text files as the caller and creates the default branch, which only merges write from then on. For a repository that this server hosts and that has no branch; any other is 409 `conflict`. At most 20 files and 512 KiB of UTF-8 together, stored byte by byte. For people: the token of a session is refused.
         */
        post: operations["createFirstCommit"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/projects/{projectId}/file": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get a file at a branch or commit
         * @description JSON contains at most 1 MiB of content; `truncated` is true when there is more. `Accept: application/octet-stream` returns all bytes.
         */
        get: operations["getFile"];
        put?: never;
        /**
         * Change a text file in a change request
         * @description Commits `content` as the caller on a new branch that starts at `ref`, and opens a change request into `ref`. At most 512 KiB of UTF-8, stored byte by byte. `blob_sha` is the file that was edited: a file that changed since is 409 `conflict` with the current `blob_sha`. For people: the token of a session is refused.
         */
        post: operations["proposeFile"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/projects/{projectId}/branches": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the branches of a project
         * @description By name, read from the git host now.
         */
        get: operations["listBranches"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/projects/{projectId}/commits": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the commits of a branch or commit
         * @description Newest first. With `path`, only commits that changed that file or folder. The history of a file goes on under its names before renames, as far as git detects them.
         */
        get: operations["listCommits"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/projects/{projectId}/paths": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the paths of all files at a branch or commit
         * @description Of at most 50,000 files; `truncated` is true when there are more. With `search`, only paths that have each word of it, in upper or lower case; those with all of them in the name of the file come first.
         */
        get: operations["listPaths"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/projects/{projectId}/tree": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List a folder at a branch or commit
         * @description Folders come first. At most 10,000 entries; `truncated` is true when there are more.
         */
        get: operations["listTree"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/projects/{projectId}/search": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Search the text files of a branch or commit
         * @description Lines that contain `text`, in upper or lower case. At most 200 lines; `truncated` is true when there are more. Binary files are left out.
         */
        get: operations["searchFiles"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/projects/{projectId}/secrets/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Delete a secret
         * @description Running sandboxes keep it until they stop.
         */
        delete: operations["deleteSecret"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/projects/{projectId}/secrets": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the names of secrets
         * @description Never a value. `required` and `optional` are those of `[env]` in svc.toml, `needed` are all that an entry of svc.toml needs, and `missing` are those of them that the project lacks.
         */
        get: operations["listSecrets"];
        put?: never;
        /**
         * Set a secret
         * @description A value has at most 64 KiB, and all values of a project together at most 512 KiB. Sandboxes that start later get it.
         *
         *     Takes no Idempotency-Key. A second request sets the same value.
         */
        post: operations["setSecret"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/projects/{projectId}/sessions/{sessionId}/abort": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Abort the current turn of the agent
         * @description The session keeps running and takes the next prompt.
         *
         *     Takes no Idempotency-Key. A second request aborts the turn that runs then.
         */
        post: operations["abortSession"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/projects/{projectId}/sessions/{sessionId}/prompts/{promptId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Cancel a waiting prompt
         * @description Only while it waits. `conflict` (409) once the agent has it: abort the turn instead. Cancelling a cancelled prompt changes nothing.
         */
        delete: operations["cancelPrompt"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/projects/{projectId}/sessions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the sessions of a project
         * @description Newest first. `include=activity` adds `is_busy`.
         */
        get: operations["listSessions"];
        put?: never;
        /**
         * Create a session
         * @description Creates a branch and starts a sandbox on it; the response comes before the sandbox runs. With `initial_prompt`, the agent starts to work at once. With `from`, the new session continues from a message of another session of the project: with the code as it was after that turn, and the conversation up to there. `concurrent_session_limit` (429) when the account's plan is at its limit; `no_model` when no model is configured.
         */
        post: operations["createSession"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/projects/{projectId}/sessions/{sessionId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get a session
         * @description `include=activity` adds `is_busy`: whether the agent is working on a prompt.
         */
        get: operations["getSession"];
        put?: never;
        post?: never;
        /**
         * Delete a session
         * @description Stops it first. Its branch and its change requests stay. `work_not_saved` as for a stop.
         */
        delete: operations["deleteSession"];
        options?: never;
        head?: never;
        /**
         * Rename a session or replace its metadata
         * @description Metadata is replaced as a whole and has at most 16 KiB.
         */
        patch: operations["updateSession"];
        trace?: never;
    };
    "/v1/projects/{projectId}/sessions/{sessionId}/attachments/{attachmentId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Download a file that was sent with a prompt
         * @description PNG, JPEG, GIF and WebP come with their own type, every other file as `application/octet-stream`. Secrets in a text are replaced.
         */
        get: operations["getAttachment"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/projects/{projectId}/sessions/{sessionId}/timeline": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the steps of the last start
         * @description Each step with its duration in milliseconds, and since then each `refresh`, each `wake` of the sleeping agent, and `restore`, of work that was saved before the project moved to another server or its server was lost. A `restore` that failed stays until that work is recovered.
         */
        get: operations["getTimeline"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/projects/{projectId}/sessions/{sessionId}/transcript": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the conversation of a session
         * @description Oldest first, also after the session stopped. With `limit`, the newest messages, and by the next page the ones before; `from=start` takes the oldest.
         */
        get: operations["getTranscript"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/projects/{projectId}/sessions/{sessionId}/prompts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the prompts of a session
         * @description Newest first, each with its outcome. `status=accepted` are those that wait, such as for the end of the current turn.
         */
        get: operations["listPrompts"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/projects/{projectId}/sessions/{sessionId}/prompt": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send a prompt to the agent of a session
         * @description At most 256 KiB of text and 10 attachments, 10 MiB each and 20 MiB together. A stopped session is started. The response comes before the agent has worked: `accepted` while the prompt waits, such as for the end of the current turn.
         */
        post: operations["promptSession"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/projects/{projectId}/sessions/{sessionId}/refresh": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Apply changes of the default branch to a running session
         * @description Once the agent is idle, pulls the session branch and restarts the agent runtime. `refresh.needs_restart` lists what only a restart applies.
         *
         *     Takes no Idempotency-Key. A second request while a refresh waits or runs adds one more refresh after it.
         */
        post: operations["refreshSession"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/projects/{projectId}/sessions/{sessionId}/restart": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Restart a session
         * @description Starts a new sandbox from the session branch. Without `agent` the session keeps its agent; null selects the default agent. `work_not_saved` as for a stop.
         *
         *     Takes no Idempotency-Key. A second request gets 409 while the session starts, and restarts a session that runs.
         */
        post: operations["restartSession"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/projects/{projectId}/sessions/{sessionId}/stop": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Stop a session
         * @description Saves unfinished work and removes the sandbox. The branch stays. Stopping a stopped session changes nothing. `work_not_saved` when the sandbox has work that cannot be saved now; the session still runs.
         *
         *     Takes no Idempotency-Key. A second request changes nothing.
         */
        post: operations["stopSession"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/projects/{projectId}/sessions/{sessionId}/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Stream the events of a session
         * @description Server-sent events: first the current state, then every change. The event name is the `type` in its data. `Last-Event-ID` resumes with the messages that changed since.
         */
        get: operations["streamSessionEvents"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/models/upstream": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the model upstream
         * @description Without its key. Only for owners of the instance.
         */
        get: operations["getModelUpstream"];
        /**
         * Set the model upstream
         * @description The server sends one request to it before it saves. Applies to every server of this database. Only for owners of the instance.
         */
        put: operations["setModelUpstream"];
        post?: never;
        /**
         * Remove the saved model upstream
         * @description Also removes its key. Only for owners of the instance.
         */
        delete: operations["clearModelUpstream"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/models": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the models that sessions can use
         * @description The default model comes first.
         */
        get: operations["listModels"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/projects/{projectId}/sessions/{sessionId}/questions/{questionId}/answer": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Answer a question of an agent
         * @description One of the option values; a `question` also takes free text. Only people can answer: the token of a sandbox gets `forbidden`.
         *
         *     Takes no Idempotency-Key. A question is answered once: a second request gets 409.
         */
        post: operations["answerQuestion"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/projects/{projectId}/sessions/{sessionId}/questions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the questions of an agent
         * @description Permissions, questions and connector calls to approve, newest first.
         */
        get: operations["listQuestions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/accounts/{accountId}/usage": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the usage of an account
         * @description Tokens of models and seconds of sandboxes, for the last `days` in UTC.
         */
        get: operations["accountUsage"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /**
         * Set the monthly token cap of an account
         * @description In tokens, input and output together; null removes the cap. At the cap, model calls get `spend_cap_reached`.
         */
        patch: operations["capAccountUsage"];
        trace?: never;
    };
    "/v1/projects/{projectId}/usage": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the usage and storage of a project
         * @description Tokens, seconds, and `storage` in bytes.
         */
        get: operations["projectUsage"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/projects/{projectId}/sessions/{sessionId}/usage": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the usage of a session
         * @description Tokens of models and seconds of sandboxes, for the last `days` in UTC.
         */
        get: operations["sessionUsage"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/projects/{projectId}/sessions/{sessionId}/wip/bundle": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Download saved work as a git bundle
         * @description Leaves out the commits that `have` names.
         */
        get: operations["bundleUnfinishedWork"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/projects/{projectId}/sessions/{sessionId}/changes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the changes of a session
         * @description Every file that differs from where the session branch left its base, pushed or not. Of a running session they are those of the newest save, which follows each tool call of the agent by seconds.
         */
        get: operations["getSessionChanges"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/projects/{projectId}/sessions/{sessionId}/wip": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the unfinished work of a session
         * @description Files that were not committed and commits that were not pushed, as they were saved last. Waits a few seconds for a save that is under way; a note says when the newest state is not saved.
         */
        get: operations["getUnfinishedWork"];
        put?: never;
        /**
         * Save the unfinished work of a running session
         * @description The server also does this at intervals and before a stop.
         *
         *     Takes no Idempotency-Key. A second request saves the work as it is then.
         */
        post: operations["saveUnfinishedWork"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/projects/{projectId}/unfinished-work": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List sessions with unfinished work
         * @description Only sessions that have some.
         */
        get: operations["listUnfinishedWork"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/projects/{projectId}/sessions/{sessionId}/wip/recover": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Apply saved work to a running session
         * @description Writes the files into the work tree of the sandbox.
         *
         *     Takes no Idempotency-Key. A second request tries to apply the same work again.
         */
        post: operations["recoverUnfinishedWork"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/projects/{projectId}/sessions/{sessionId}/wip/recovered": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Mark saved work as recovered
         * @description It is no longer listed as unfinished.
         *
         *     Takes no Idempotency-Key. A second request changes nothing.
         */
        post: operations["settleUnfinishedWork"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/projects/{projectId}/sessions/{sessionId}/files": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read a folder or a file of a session
         * @description The work tree of a running session as it is now, with files that are not committed and files that git ignores. Of any other session, its branch with the unfinished work that was saved. At most the first MiB of a text; other content is whole up to 4 MiB, or empty. Symbolic links are not followed. The content of ignored files needs write access. Without `path`, the top folder.
         */
        get: operations["getSessionFiles"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/projects/{projectId}/sessions/{sessionId}/preview": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the address of a port of a session
         * @description The address works once, for the browser that opens it first.
         */
        get: operations["getPreview"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/projects/{projectId}/sessions/{sessionId}/ports": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the ports of a session that programs listen on
         * @description Those on 127.0.0.1, in ascending order; the first 1,000. Ports of the sandbox itself are left out.
         */
        get: operations["listPorts"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/projects/{projectId}/change-requests/{crId}/close": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Close a change request without merging it
         * @description Closing a closed one changes nothing.
         *
         *     Takes no Idempotency-Key. A second request changes nothing.
         */
        post: operations["closeChangeRequest"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/projects/{projectId}/change-requests/{crId}/diff": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the diff of a change request
         * @description `Accept: text/x-diff` returns the patch alone. `Accept: application/x-ndjson` returns the same diff in lines: first an object without `patch`, then objects with a `patch` each, to be joined. `since` compares with an earlier head, and `to` shows an earlier head instead of the current one.
         */
        get: operations["diffChangeRequest"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/projects/{projectId}/change-requests/{crId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get a change request
         * @description While it is open, its commits are read from the git host now.
         */
        get: operations["getChangeRequest"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /**
         * Edit a change request
         * @description Title, description or metadata of one that is not merged. `metadata.draft: true` makes it a draft, which cannot be merged.
         */
        patch: operations["editChangeRequest"];
        trace?: never;
    };
    "/v1/projects/{projectId}/change-requests/{crId}/pull-request": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the pull request of a change request on the git host
         * @description Also returns whether the git host protects the base branch.
         */
        get: operations["getPullRequest"];
        put?: never;
        /**
         * Open a pull request on the git host
         * @description For a protected base branch. Returns the open pull request if there is one.
         */
        post: operations["openPullRequest"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/projects/{projectId}/change-requests/{crId}/reading-guide": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the reading guide of a change request
         * @description An order to read the files of its diff, and the code that the diff moves. It takes the options of the diff.
         */
        get: operations["getReadingGuide"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/projects/{projectId}/change-requests": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the change requests of a project
         * @description Newest first, unless `sort` says otherwise. The commits of open ones are read from the git host now. `include=summary` adds to each what a list shows of it; the server computes in the background what it does not know yet.
         */
        get: operations["listChangeRequests"];
        put?: never;
        /**
         * Open a change request
         * @description `base_ref` is the default branch unless given. Both branches have to exist: `ref_not_found`.
         */
        post: operations["openChangeRequest"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/projects/{projectId}/change-requests/{crId}/merge": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Merge a change request
         * @description A fast-forward where possible, otherwise a merge commit. `expected_head_sha` and `expected_base_sha` refuse when a branch moved: `head_moved`, `base_moved`. A conflict answers `merge_conflict` with the files in `conflicts`. A push that keeps losing to others for 10 seconds answers `base_busy`.
         */
        post: operations["mergeChangeRequest"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/projects/{projectId}/change-requests/{crId}/merge-preview": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Preview the merge of a change request
         * @description Returns whether it merges and which files conflict. `include=effects` adds what merging does beyond code, `include=collisions` the open change requests that would conflict afterwards.
         */
        get: operations["previewChangeRequest"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/projects/{projectId}/change-requests/{crId}/reopen": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Reopen a closed change request
         * @description Fails with `conflict` while another one of the same branches is open.
         *
         *     Takes no Idempotency-Key. A second request gets 409: the change request is open.
         */
        post: operations["reopenChangeRequest"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/projects/{projectId}/change-requests/{crId}/verify": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Verify a merge
         * @description Makes the merge again from its stored receipt and compares tree and commit.
         */
        get: operations["verifyChangeRequest"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/projects/{projectId}/change-requests/{crId}/origins": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show how the changed lines of a file were written
         * @description For each changed line of a file: the tool call that wrote it and the prompt behind the call, from the transcripts of the sessions of the head branch. Lines that no call wrote have the commit that last changed them, and the calls that may have. For text files of at most 1 MiB.
         */
        get: operations["getChangeRequestOrigins"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/projects/{projectId}/change-requests/{crId}/checks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the checks of a change request
         * @description The checks come from svc.toml of the default branch and run on the merge of base and head.
         */
        get: operations["getChecks"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/projects/{projectId}/change-requests/{crId}/checks/{runId}/log": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read the log of a check run
         * @description The newest `lines`, oldest of them first. At most 5,000 lines and 8 MiB.
         */
        get: operations["readCheckLog"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/projects/{projectId}/change-requests/{crId}/checks/rerun": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Run checks again
         * @description One by `name`, or all that ended without passing.
         *
         *     Takes no Idempotency-Key. A second request keeps the checks that wait or run, and runs those that have ended again.
         */
        post: operations["rerunChecks"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/projects/{projectId}/change-requests/{crId}/reviews/comments/{commentId}/answer": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Answer a comment of a review
         * @description For the author of the change: `done` with the commit that did it, which is the head of the branch unless given, or `declined` with the reason as `text`. The token of a session answers only the comments of its own branch.
         */
        post: operations["answerComment"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/projects/{projectId}/change-requests/{crId}/suggestions/apply": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Apply suggestions of reviews
         * @description Commits the `suggestion` blocks of these comments to the head branch, in one commit by the caller, and resolves the comments. All or none: a suggestion whose lines changed is refused. Only people apply suggestions.
         */
        post: operations["applySuggestions"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/projects/{projectId}/change-requests/{crId}/reviews": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the reviews of a change request
         * @description Oldest first.
         */
        get: operations["listReviews"];
        put?: never;
        /**
         * Review a change request
         * @description Stores the review and sends it to the session as one prompt, which starts a stopped session. `send: false` only stores it.
         */
        post: operations["createReview"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/projects/{projectId}/change-requests/{crId}/reviews/comments/{commentId}/replies": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Reply to a comment of a review
         * @description With `send`, the session gets the reply as a prompt and has to answer the comment again. The token of a session replies only on its own branch, and can't send.
         */
        post: operations["replyToComment"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/projects/{projectId}/change-requests/{crId}/reviews/comments/{commentId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /**
         * Resolve or reopen a comment of a review
         * @description Only people resolve comments. Resolving a resolved one changes nothing.
         */
        patch: operations["resolveComment"];
        trace?: never;
    };
    "/v1/inbox/projects": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Count what is open in each project
         * @description One row for each project of the accounts of the caller in which something is open, the newest project first, for the newest 1000 of them.
         */
        get: operations["countOpenWork"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/inbox": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List what needs the caller
         * @description Questions to answer, change requests to review, what is blocked, and the sessions that run, in the projects of the accounts of the caller. `unblock` has conflicts, failed checks, an invalid svc.toml where the project requires a valid one, and failed sessions. Drafts are left out, and so are change requests whose agent works on a review of the caller. Groups come in this order, each newest first; `per_group` lists the first items of each group instead of pages. A viewer sees sessions only.
         */
        get: operations["getInbox"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/inbox/{key}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /**
         * Mark an item of the inbox as done, or snooze it
         * @description Hides the item from the inbox of the caller. It comes back at `until`, or as soon as it changes: new commits, a new conflict, a failed check, another failure. 404 when it no longer needs the caller.
         */
        put: operations["putAwayInboxItem"];
        post?: never;
        /**
         * Return an item to the inbox
         * @description Undoes "done" and snoozing. 404 when the item was not put away.
         */
        delete: operations["restoreInboxItem"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/inbox/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Stream that the inbox changed
         * @description Server-sent events for all projects of the caller in one stream: the first is `ready`, and `changed` says that something happened in a project. Reconnect to follow projects that were created since. `Accept: application/json` returns the projects that the stream follows.
         */
        get: operations["streamInbox"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/find": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Find change requests and sessions by name
         * @description Searches the projects of the accounts of the caller, for a list that opens while they type: at most 8 results of each kind. A change request has every word of the text in its title or its head branch, or the text is its number (`12` or `#12`); that one comes first. A session has every word in its name. Then come those of `project_id`, then what is open or live, then the newest. By words, the search examines the newest 20,000 of each kind, those of `project_id` first. A viewer finds sessions only.
         */
        get: operations["searchEverything"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/projects/{projectId}/change-requests/{crId}/review-state": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get your viewed files and drafts
         * @description Yours alone: other members have their own.
         */
        get: operations["getReviewState"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /**
         * Change your viewed files and drafts
         * @description Changes what it names and leaves the rest. `null` takes a file or draft away. At most 5,000 viewed files and 200 drafts. Agents have none.
         */
        patch: operations["editReviewState"];
        trace?: never;
    };
    "/v1/projects/{projectId}/change-requests/{crId}/versions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the versions of a change request
         * @description One for each head that the service saw, oldest first; the last 1,000 are kept. `GET …/diff?since=<head>&to=<head>` compares two.
         */
        get: operations["listChangeRequestVersions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/projects/{projectId}/triggers/{slug}/disable": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Disable a trigger
         * @description Opens a change request that edits svc.toml. With a user token it is merged at once; `merged` says whether it was.
         */
        post: operations["disableTrigger"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/projects/{projectId}/triggers/{slug}/enable": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Enable a trigger
         * @description Opens a change request that edits svc.toml. With a user token it is merged at once; `merged` says whether it was.
         */
        post: operations["enableTrigger"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/projects/{projectId}/triggers/{slug}/fire": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Fire a trigger now
         * @description Starts a session, whether the trigger is enabled or not. `concurrent_session_limit` (429) at the plan's limit.
         */
        post: operations["fireTrigger"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/projects/{projectId}/triggers/{slug}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get a trigger with its latest runs
         * @description `slots` are the times at which it was due, with their outcomes.
         */
        get: operations["getTrigger"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/projects/{projectId}/triggers": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the triggers of a project
         * @description In the order of svc.toml on the default branch. `errors` are the problems of their entries.
         */
        get: operations["listTriggers"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/projects/{projectId}/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Stream or list the events of a project
         * @description Server-sent events from now on, after the id in `Last-Event-ID` or `after`, or of the last `recent` seconds. The first one is `ready` or `reset`. `Accept: application/json` returns one page instead. Events are kept for 30 days.
         */
        get: operations["streamProjectEvents"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/channel-links/claim": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Look up a link code of the chat app
         * @description Shows which chat user the code links to the caller, and reserves it for the caller.
         *
         *     Takes no Idempotency-Key. A second request of the same caller gets the same answer.
         */
        post: operations["claimLinkCode"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/projects/{projectId}/channels": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the chat channels of a project
         * @description `setup` is what the chat platform needs in order to reach this server.
         */
        get: operations["listChannels"];
        put?: never;
        /**
         * Connect a chat channel
         * @description The credentials are tested first. A channel that is already connected gets the new ones.
         *
         *     Takes no Idempotency-Key. A second request for the same conversation returns the same channel.
         */
        post: operations["connectChannel"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/projects/{projectId}/channels/{channelId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get a chat channel
         * @description With its newest threads and deliveries, and the linked members.
         */
        get: operations["getChannel"];
        put?: never;
        post?: never;
        /**
         * Disconnect a chat channel
         * @description Deletes its credentials. Its sessions stay.
         */
        delete: operations["disconnectChannel"];
        options?: never;
        head?: never;
        /**
         * Change who may start sessions from a channel
         * @description `allow_unlinked` lets people of the workspace start sessions without linking their chat user.
         */
        patch: operations["editChannel"];
        trace?: never;
    };
    "/v1/channel-links": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the chat users linked to the caller
         * @description They act as the caller in chat.
         */
        get: operations["listChannelLinks"];
        put?: never;
        /**
         * Link a chat user to the caller
         * @description In chat, that user then acts as the caller.
         *
         *     Takes no Idempotency-Key. The code works once: a second request is refused.
         */
        post: operations["linkChatUser"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/projects/{projectId}/channels/{channelId}/test": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send a test message to a channel
         * @description `sent` and `error` report the outcome.
         *
         *     Takes no Idempotency-Key. A second request sends another message.
         */
        post: operations["testChannel"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/channel-links/{linkId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Unlink a chat user
         * @description They no longer act as the caller.
         */
        delete: operations["unlinkChatUser"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/projects/{projectId}/webhooks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the webhooks of a project
         * @description Never their secrets.
         */
        get: operations["listWebhooks"];
        put?: never;
        /**
         * Create a webhook
         * @description Sends signed events, beginning with the next one. `secret` is in this answer only. A project has at most 20.
         */
        post: operations["createWebhook"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/projects/{projectId}/webhooks/{webhookId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Delete a webhook
         * @description Nothing more is sent to it.
         */
        delete: operations["deleteWebhook"];
        options?: never;
        head?: never;
        /**
         * Change a webhook
         * @description Changes its URL, events or secret, or pauses and resumes it. `from_now` drops undelivered events.
         */
        patch: operations["updateWebhook"];
        trace?: never;
    };
    "/v1/projects/{projectId}/webhooks/{webhookId}/deliveries": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the deliveries of a webhook
         * @description Newest first, each with the answer of the receiver (at most 1 KiB).
         */
        get: operations["listDeliveries"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/projects/{projectId}/webhooks/{webhookId}/ping": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send a ping to a webhook
         * @description Also while the webhook is paused.
         */
        post: operations["pingWebhook"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/projects/{projectId}/webhooks/{webhookId}/deliveries/{deliveryId}/redeliver": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Deliver an event again
         * @description Under the id of its first delivery.
         */
        post: operations["redeliver"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/projects/{projectId}/apps/{slug}/deploy": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Deploy an app
         * @description From the default branch, also when the app was stopped. The response comes before the app is live.
         */
        post: operations["deployApp"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/projects/{projectId}/apps/{slug}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get an app with its latest deploys
         * @description Deploys are newest first.
         */
        get: operations["getApp"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/projects/{projectId}/apps": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the apps of a project
         * @description In the order of svc.toml on the default branch. `errors` are the problems of their entries.
         */
        get: operations["listApps"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/projects/{projectId}/apps/{slug}/open": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the address of an app for one browser
         * @description The address works once, for the browser that opens it first.
         */
        get: operations["openApp"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/projects/{projectId}/apps/{slug}/logs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read the log of an app
         * @description Output of building and running. `follow=1` streams it as server-sent events: `line` for each line, `deploy` when the deploy or its status changes.
         */
        get: operations["readAppLogs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/projects/{projectId}/apps/{slug}/rollback": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Roll an app back to an earlier deploy
         * @description To the last one that was live before this one, or to the one that `deploy` names by number or id.
         */
        post: operations["rollbackApp"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/projects/{projectId}/apps/{slug}/stop": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Stop an app
         * @description It stays stopped until it is deployed again.
         *
         *     Takes no Idempotency-Key. A second request changes nothing.
         */
        post: operations["stopApp"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/projects/{projectId}/host-webhook": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the webhook that the git host calls
         * @description Enter its URL and secret at the git host, so that pushes are seen at once.
         */
        get: operations["getHostWebhook"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/projects/{projectId}/host-webhook/rotate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Create a new secret for the git host's webhook
         * @description The earlier secret stops working.
         */
        post: operations["rotateHostWebhook"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/projects/{projectId}/connectors/{slug}/check": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Read the tools of a connector again
         * @description The answer has the tools, or why there are none.
         *
         *     Takes no Idempotency-Key. A second request reads the tools again.
         */
        post: operations["checkConnector"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/projects/{projectId}/connector-approvals/{approvalId}/decide": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Approve or deny a connector call
         * @description Once, or with `always` for the tool from now on. Only people decide: the token of a sandbox gets `forbidden`.
         *
         *     Takes no Idempotency-Key. A call is decided once: a second request gets 409.
         */
        post: operations["decideConnectorApproval"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/projects/{projectId}/connectors/{slug}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get a connector with its latest calls
         * @description Calls list the names of arguments, never their values.
         */
        get: operations["getConnector"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/projects/{projectId}/connector-approvals": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List connector calls that wait for a decision
         * @description Newest first; `status=all` includes decided ones.
         */
        get: operations["listConnectorApprovals"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/projects/{projectId}/connectors": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the connectors of a project
         * @description From svc.toml on the default branch, with their tools.
         */
        get: operations["listConnectors"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/projects/{projectId}/connectors/{slug}/policies": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /**
         * Set what agents may do with a connector
         * @description For all tools or for single ones: allow, ask, or block. Only people decide: the token of a sandbox gets `forbidden`.
         */
        patch: operations["setConnectorPolicy"];
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /** @description Every error has this shape. Facts about it, such as `conflicts`, are additional fields. */
        Error: {
            /** @description A sentence that says what happened. */
            error: string;
            code: components["schemas"]["ErrorCode"];
            /** @description What to do next. */
            hint?: string;
        } & {
            [key: string]: unknown;
        };
        /**
         * @description The kind of error, for programs.
         * @enum {string}
         */
        ErrorCode: "invalid" | "unauthenticated" | "forbidden" | "not_found" | "conflict" | "limit_reached" | "unprocessable" | "unavailable" | "internal" | "agent_not_found" | "ref_not_found" | "model_not_found" | "reserved_name" | "repository_refused" | "agent_merge_forbidden" | "spend_cap_reached" | "confirmation_needed" | "merge_conflict" | "merge_rejected" | "branch_protected" | "head_moved" | "base_moved" | "ref_missing" | "not_open" | "work_not_saved" | "no_model" | "idempotency_mismatch" | "idempotency_in_progress" | "concurrent_session_limit" | "manifest_invalid" | "body_too_large" | "request_timeout" | "quota_exceeded" | "method_not_allowed" | "base_busy" | "repository_fetching" | "repository_unreachable" | "preview_unreachable" | "runtime_booting" | "model_not_configured" | "model_upstream_failed";
        ExaminedGroup: {
            name: string;
            findings: components["schemas"]["Finding"][];
        };
        Finding: {
            name: string;
            /**
             * @description `weak` works, but not as it should; `missing` does not work.
             * @enum {string}
             */
            state: "good" | "weak" | "missing";
            says: string;
            /** @description What to do about it, often a command. */
            mend: string | null;
        };
        ProjectHome: {
            /** @description The server that keeps the project; null where a server runs alone. */
            server: string | null;
            /** @description The last move of the project, which may still be active. */
            move: components["schemas"]["ProjectMove"] | null;
        };
        ProjectMove: {
            /** Format: uuid */
            move_id: string;
            /** Format: uuid */
            project_id: string;
            project_slug: string;
            from: string;
            to: string;
            /**
             * @description `copying` while the project is used; `copied`: its home hands it over once no agent works; `frozen`: writes wait for the switch.
             * @enum {string}
             */
            phase: "copying" | "copied" | "frozen" | "done" | "failed";
            /** @enum {string} */
            cause: "request" | "balance" | "drain";
            force: boolean;
            /** @description Why the move does not go on at the moment. */
            waits_for: string | null;
            error: string | null;
            /** Format: date-time */
            requested_at: string;
            ended_at: string | null;
        };
        Server: {
            name: string;
            /** @description How the other servers reach it; null for a server that runs alone. */
            peer_url: string | null;
            running: boolean;
            /** @description Whether it answers the server that took this request; null for that server itself. */
            reachable: boolean | null;
            /** @description Whether it has the role `worker`, or runs alone. False while it does not run. */
            keeps_projects: boolean;
            draining: boolean;
            /** @description Whether sandboxes can start there. With `missing` it gets no projects while another server can take them. Null: not known, or it keeps no projects. */
            sandboxes: ("ready" | "missing") | null;
            /** @description Why sandboxes cannot start there. */
            sandbox_problem: string | null;
            /** @description By how many seconds its clock is ahead of the database's, or behind when it is negative. The other servers refuse its requests then, and it gets no projects while another server can take them. Null: by no more than a minute, or it does not run. */
            clock_ahead_seconds: number | null;
            /** @description Whether its disk is almost full, so that it accepts no new work. It gets no projects while another server can take them. */
            disk_low: boolean;
            /** @description Settings that have to be the same on every server, and differ. Of running servers. */
            different_settings: {
                name: string;
                /** @description On that server. Empty: not set. */
                value: string;
                /** @description On the server that took this request. */
                here: string;
            }[];
            projects: number;
            /** @description Copies of projects of other servers. */
            copies: number;
            /** @description Of a draining server: the copies that another server could keep. 0 for others. */
            copies_to_move: number;
            /** @description Of a draining server: the projects whose last move failed before anything was copied, such as those without a repository on its disk. They are tried again every ten minutes. */
            unmovable: {
                /** Format: uuid */
                project_id: string;
                project_slug: string;
                reason: string;
            }[];
            last_seen: string | null;
            /** @description The active moves of projects away from it. */
            moves: components["schemas"]["ProjectMove"][];
        };
        PlacedProject: {
            /** Format: uuid */
            project_id: string;
            slug: string;
            /** @description It can still be restored. */
            deleted: boolean;
            /** @description The server that keeps it. Null: it has none yet. */
            home: string | null;
            /** @description The server with the copy of its repository. `GET /v1/copies` says whether it is current. */
            copy: string | null;
        };
        TakenProject: {
            /** Format: uuid */
            project_id: string;
            slug: string;
            /**
             * @description `taken`: it has a new home. `would-lose`: its copy lacks acknowledged changes. `no-copy`: no server has a copy. `copy-not-running`: start the server `server` first. `failed`: the server `server` could not take it, for the reason in `error`.
             * @enum {string}
             */
            outcome: "taken" | "would-lose" | "no-copy" | "copy-not-running" | "failed";
            /** @description The new home, or the server with the copy. */
            server: string | null;
            /** @description Why it was not taken; null for other outcomes than `failed`. */
            error: string | null;
            /** @description Acknowledged changes that the new home does not have, or would not have. */
            missing: components["schemas"]["MissingRef"][];
            /** @description The copy is older than the changes that the database still lists, so more than `missing` may be lost. */
            is_stale: boolean;
            /** @description Merged change requests whose merge the new home does not have, or would not have. They stay merged; open a new change request of the head branch to merge it again. */
            lost_merges: components["schemas"]["LostMerge"][];
        };
        MissingRef: {
            /** @description Full name of the branch or hidden ref. */
            ref: string;
            /** @description The commit that was acknowledged last. */
            acknowledged: string;
            /** @description The commit that the copy has. Null: it has none. */
            copy: string | null;
        };
        LostMerge: {
            /** Format: uuid */
            cr_id: string;
            number: number;
            title: string;
            base_ref: string;
            head_ref: string;
        };
        FolderBytes: {
            /**
             * @description `database_log`: the write-ahead log of the embedded database. `unused_database`: an embedded database in the data folder that the server does not use, as after a move; there may be several. `copies`: repositories of other servers.
             * @enum {string}
             */
            kind: "database_log" | "unused_database" | "logs" | "copies" | "backups";
            path: string;
            bytes: number;
        };
        KeptRows: {
            /** @enum {string} */
            kind: "events" | "deliveries" | "checks" | "deploys" | "firings" | "transcripts" | "branches" | "audit";
            /** @description The variable of the server that sets the period, such as SVC_KEEP_EVENTS. */
            setting: string;
            /** @description Older rows are deleted. Null: never. */
            keep_days: number | null;
            /** @description Above 10,000 as PostgreSQL last counted them, so approximately. */
            rows: number;
            /** @description The size of the tables with their indexes. Their space is used again after rows are deleted. */
            bytes: number;
            oldest_at: string | null;
        };
        ProjectBytes: {
            /** Format: uuid */
            project_id: string;
            slug: string;
            /** @description The server that keeps the repository; null where a server runs alone. */
            server: string | null;
            /** @description Null when another server keeps it. */
            repository_bytes: number | null;
            unfinished_work_bytes: number;
            transcript_bytes: number;
            check_log_bytes: number;
            /** @description Deleted, and uses the space until it is purged. */
            deleted: boolean;
        };
        Member: {
            /** Format: uuid */
            user_id: string;
            name: string;
            email: string | null;
            /** @enum {string} */
            role: "owner" | "admin" | "member" | "viewer";
            /** Format: date-time */
            created_at: string;
        };
        Ok: {
            /** @constant */
            ok: true;
        };
        Account: {
            /** Format: uuid */
            account_id: string;
            /** @description Built from its name and the start of its id; changes when the account is renamed. */
            slug: string;
            name: string;
            /** @enum {string} */
            plan: "free" | "pro" | "team" | "selfhost";
            /** @enum {string} */
            role: "owner" | "admin" | "member" | "viewer";
        };
        User: {
            /** Format: uuid */
            user_id: string;
            name: string;
            email: string | null;
        };
        AuditEvent: {
            event_id: number;
            /** Format: date-time */
            at: string;
            project_id: string | null;
            actor_kind: string;
            actor_user_id: string | null;
            token_id: string | null;
            session_id: string | null;
            request_id: string | null;
            address: string | null;
            /** @description The email address or the name of the user, also of one who left the account. Older servers omit it. */
            actor_name?: string | null;
            action: string;
            object_type: string;
            object_id: string;
            /** @description The title of a change request, the name of a session or the host of a webhook as it is now. Null: deleted, or of another type. */
            object_name?: string | null;
            /** @description The number of a change request. */
            object_number?: number | null;
            /** @description The name of the session whose agent did it. Null: a deleted one, or none. */
            session_name?: string | null;
            before: unknown;
            after: unknown;
        };
        DashboardSession: {
            /** Format: uuid */
            dashboard_session_id: string;
            /** @enum {string} */
            began_by: "link" | "password" | "oidc";
            address: string | null;
            user_agent: string | null;
            /** Format: date-time */
            created_at: string;
            last_used_at: string | null;
            /** Format: date-time */
            expires_at: string;
            /** @description Whether this is the session that made the request. */
            current: boolean;
        };
        Invitation: {
            /** Format: uuid */
            invitation_id: string;
            email: string;
            name: string;
            /** @enum {string} */
            role: "owner" | "admin" | "member" | "viewer";
            invited_by: {
                /** Format: uuid */
                user_id: string;
                name: string;
            } | null;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            expires_at: string;
            /** @description Whether the invitation has a link. An API token creates none. */
            has_link: boolean;
        };
        ReceivedInvitation: {
            /** Format: uuid */
            invitation_id: string;
            account_name: string;
            invited_by: string | null;
            email: string;
            /** @enum {string} */
            role: "owner" | "admin" | "member" | "viewer";
            /** Format: date-time */
            expires_at: string;
        };
        Notice: {
            notice_id: number;
            /** Format: date-time */
            at: string;
            /** @description The action in the audit log, such as `token.create`. */
            action: string;
            /** @description The name of the token, or the email address that was invited. */
            name: string | null;
            address: string | null;
            /** @description The name of the token that did it; null for a browser, or for the machine of the server. */
            token_name: string | null;
        };
        ProjectToken: {
            /** Format: uuid */
            token_id: string;
            name: string;
            project_id: string | null;
            session_id: string | null;
            expires_at: string | null;
            /** Format: date-time */
            created_at: string;
            last_used_at: string | null;
            /**
             * Format: uuid
             * @description The user whose access the token has.
             */
            created_by: string;
            created_by_name: string;
            /** @description Whether that user is a member of the project's account. Otherwise every request with the token is refused. */
            is_member: boolean;
        };
        Token: {
            /** Format: uuid */
            token_id: string;
            name: string;
            project_id: string | null;
            session_id: string | null;
            expires_at: string | null;
            /** Format: date-time */
            created_at: string;
            last_used_at: string | null;
        };
        MintedToken: {
            /** Format: uuid */
            token_id: string;
            name: string;
            project_id: string | null;
            session_id: string | null;
            expires_at: string | null;
            /** Format: date-time */
            created_at: string;
            secret_key: string;
        };
        Project: {
            /** Format: uuid */
            project_id: string;
            /** Format: uuid */
            account_id: string;
            slug: string;
            name: string;
            repo_url: string;
            git_url: string;
            default_branch: string;
            managed: boolean;
            config_dir: string;
            /** @description The public key that the git host has to accept for pushes; null when the project uses no key of the server. */
            ssh_public_key: string | null;
            settings: components["schemas"]["ProjectSettings"];
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
            /**
             * Format: date-time
             * @description Only for deleted projects; `slug` is then the slug it had.
             */
            deleted_at?: string;
            /**
             * Format: date-time
             * @description Only for deleted projects: until then the project can be restored.
             */
            purge_at?: string;
        };
        ProjectSettings: {
            /**
             * @description Whether agents may merge into the default branch.
             * @default deny
             * @enum {string}
             */
            agent_merge: "deny" | "allow";
            /**
             * @description Whether a merge is refused when the svc.toml of the head is broken.
             * @default off
             * @enum {string}
             */
            manifest_gate: "off" | "on";
            /**
             * @description The API of the git host. `auto` follows the operator's configuration.
             * @default auto
             * @enum {string}
             */
            git_host: "auto" | "plain" | "github";
            /**
             * @description The address of that API. Null: the one of github.com, elsewhere `https://<host>/api/v3`.
             * @default null
             */
            git_api_url: string | null;
            /**
             * @description The token cap of one session, input and output together; null for none.
             * @default null
             */
            model_tokens_per_session: number | null;
            /** @default null */
            model_tokens_per_month: number | null;
            /**
             * @description How deep agents may start sessions: 1 allows those that a person's session starts, 0 none.
             * @default 3
             */
            session_depth_max: number;
            /**
             * @description How many live sessions agents may start from the same first session, directly or indirectly.
             * @default 10
             */
            session_descendants_max: number;
            /**
             * @description How many sessions per hour agents may start from the same first session.
             * @default 60
             */
            session_starts_per_hour_max: number;
            /**
             * @description How many live sessions one webhook trigger may have.
             * @default 10
             */
            webhook_sessions_max: number;
            /**
             * @description How many sessions per hour one webhook trigger may start.
             * @default 120
             */
            webhook_fires_per_hour_max: number;
            /** @default null */
            quota_repository_bytes: number | null;
            /** @default null */
            quota_push_bytes: number | null;
            /** @default null */
            quota_unfinished_work_bytes: number | null;
            /** @default null */
            quota_transcript_bytes: number | null;
            /** @default null */
            quota_check_log_bytes: number | null;
            /** @default null */
            quota_app_archive_bytes: number | null;
            /** @default null */
            quota_sessions_bytes: number | null;
        };
        ProjectDeletion: {
            sessions: number;
            live_sessions: number;
            /** @description Sessions with unpushed work; for live sessions, as of the last save. */
            unpushed_sessions: number;
            change_requests: number;
            open_change_requests: number;
            /** @description What the server stores of the repository: all of a managed one, otherwise its mirror. */
            repository_bytes: number;
            /** @description Null while the project is not deleted. */
            deleted_at: string | null;
            /**
             * Format: date-time
             * @description When the server purges the project, or would if it were deleted now.
             */
            purge_at: string;
        };
        ManifestIssue: {
            /** @description Keys and positions joined by dots; empty for the whole file. */
            path: string;
            message: string;
            /** @enum {string} */
            severity: "error" | "warning";
            line: number | null;
            column: number | null;
        };
        MergeEffects: {
            /** @description Whether the base is the default branch. Merging into any other branch has no effects, and the other fields are empty, except `secrets_added` and `manifest_issues`. */
            applies: boolean;
            triggers: {
                slug: string;
                /** @enum {string} */
                change: "added" | "changed" | "removed" | "enabled" | "disabled";
            }[];
            /** @description `redeployed`: the entry is unchanged, but the files it is built from change. */
            apps: {
                slug: string;
                /** @enum {string} */
                change: "added" | "changed" | "removed" | "redeployed";
            }[];
            skills: {
                name: string;
                /** @enum {string} */
                change: "added" | "changed" | "removed";
            }[];
            agents: {
                name: string;
                /** @enum {string} */
                change: "added" | "changed" | "removed";
            }[];
            /** @description The hosts that agents may call, and the name of the secret each one gets. `went` is null for a new connector, `goes` for a removed one. */
            connectors: {
                name: string;
                /** @enum {string} */
                change: "added" | "changed" | "removed";
                goes: {
                    host: string;
                    encrypted: boolean;
                    secret: string | null;
                } | null;
                went: {
                    host: string;
                    encrypted: boolean;
                    secret: string | null;
                } | null;
            }[];
            channels: {
                name: string;
                /** @enum {string} */
                change: "added" | "changed" | "removed";
            }[];
            checks: {
                name: string;
                /** @enum {string} */
                change: "added" | "changed" | "removed";
            }[];
            /** @description Settings of `[env]`, `[runtime]` and `[sandbox]` that later sessions get. */
            settings: string[];
            /** @description Where the merge adds the value of a secret: file, line and name, never the value. */
            secrets_added: string[];
            /** @description Secrets that an entry of svc.toml needs after the merge and not before, and that the project lacks. */
            secrets_missing: string[];
            manifest_issues: components["schemas"]["ManifestIssue"][];
            /** @description Each changed entry of svc.toml, before and after. */
            details: components["schemas"]["EffectDetail"][];
            /** @description The effects as sentences, the most important first. */
            words: string[];
        };
        EffectDetail: {
            /** @enum {string} */
            kind: "trigger" | "app" | "connector" | "channel" | "check" | "setting";
            /** @description The slug or name of the entry; the table and key of a setting, such as `sandbox.egress`. */
            name: string;
            /** @enum {string} */
            change: "added" | "changed" | "removed" | "enabled" | "disabled" | "redeployed";
            /** @description What differs, as texts. `before` is null for what is new, `after` for what is removed. */
            fields: {
                field: string;
                before: string | null;
                after: string | null;
            }[];
            /** @description The next three times of a trigger that is on after the merge. */
            next_fire_at: string[];
            /** @description Of its schedule, if there are next times. Older servers omit it. */
            timezone?: string;
            /** @description What a person should confirm before the merge, such as a secret that goes to a new host. */
            confirm: string[];
        };
        CommitEntry: {
            sha: string;
            parents: string[];
            author_name: string;
            author_email: string;
            /** Format: date-time */
            authored_at: string;
            /** Format: date-time */
            committed_at: string;
            subject: string;
            body: string;
            /** @description Only in the history of a file: its name in this commit, where it was another one. */
            path?: string;
        };
        DiffFile: {
            path: string;
            old_path: string | null;
            /** @enum {string} */
            status: "added" | "modified" | "deleted" | "renamed";
            additions: number;
            deletions: number;
            binary: boolean;
            /** @description Bytes before the change. */
            old_size?: number | null;
            /** @description Bytes after the change. */
            new_size?: number | null;
        };
        ChangeRequest: {
            /** Format: uuid */
            cr_id: string;
            /** Format: uuid */
            account_id: string;
            /** Format: uuid */
            project_id: string;
            number: number;
            title: string;
            description: string;
            base_ref: string;
            head_ref: string;
            /** @enum {string} */
            status: "open" | "merged" | "closed";
            head_commit_sha: string | null;
            base_commit_sha: string | null;
            /** @description The branch that no longer exists, of an open one; null while both do. The commits are the last known ones. */
            missing_ref: string | null;
            origin_session_id: string | null;
            created_by: string | null;
            merged_at: string | null;
            merged_by: string | null;
            merge_commit_sha: string | null;
            closed_at: string | null;
            closed_by: string | null;
            metadata: {
                [key: string]: unknown;
            };
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
        };
        Secret: {
            name: string;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
            created_by: string | null;
        };
        Prompt: {
            /** Format: uuid */
            prompt_id: string;
            text: string;
            /** @enum {string} */
            status: "accepted" | "delivered" | "failed" | "cancelled";
            error: {
                code: string;
                message: string;
            } | null;
            created_by: string | null;
            /** Format: date-time */
            created_at: string;
            /** @description When the prompt was delivered, refused or cancelled. */
            settled_at: string | null;
            attachments: components["schemas"]["Attachment"][];
            /** @description The agent that the prompt is for. Null where the server does not know it, such as for the first prompt. */
            agent_name: string | null;
            /** @description The model that the prompt is for, where `agent_name` is set; null is the default one. */
            model: string | null;
        };
        Attachment: {
            /** Format: uuid */
            attachment_id: string;
            name: string;
            bytes: number;
            /** @description Detected from the first bytes of the file, never from its name. */
            content_type: string;
        };
        Session: {
            /** Format: uuid */
            session_id: string;
            /** Format: uuid */
            account_id: string;
            /** Format: uuid */
            project_id: string;
            name: string;
            branch_name: string;
            base_ref: string;
            agent_name: string;
            model: string | null;
            /** @enum {string} */
            status: "queued" | "branching" | "provisioning" | "running" | "stopped" | "failed" | "completed";
            error: string | null;
            /** @description Why the latest turn failed; null once a turn succeeds. */
            last_turn_error: components["schemas"]["TurnError"] | null;
            sandbox_url: string | null;
            sandbox: {
                /** Format: uuid */
                sandbox_id: string;
                driver: string;
                /** @enum {string} */
                status: "provisioning" | "active" | "stopped" | "error" | "archived";
                generation: number;
            } | null;
            created_by: string | null;
            /** @description The user in whose name its agent acts: `created_by`, until another member goes on with the session of a person who left. Older servers omit it. */
            acts_for?: string | null;
            /** @description The session whose agent started this one; null when a person or a schedule did, or when that session is deleted. */
            parent_session_id: string | null;
            /** @description The session that this one was branched from, and the last message of its conversation that this one knows. Null when it began by itself, or when that session is deleted. Older servers omit it. */
            continues?: {
                /** Format: uuid */
                session_id: string;
                message_id: string | null;
            } | null;
            metadata: {
                [key: string]: unknown;
            };
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
            /** Format: date-time */
            last_active_at: string;
            /** @description Only with `include=activity`: whether the agent is working on a prompt. */
            is_busy?: boolean;
            /** @description Only in a list: the first line of the first prompt, cut. Null until the agent has it. */
            task?: string | null;
            /** @description The latest refresh since the sandbox started. */
            refresh: components["schemas"]["SessionRefresh"] | null;
            /** @description `person`: a question of the agent is open. */
            waiting_for: "person" | null;
            /** @description Since when the idle agent sleeps; null while it is awake. The next prompt wakes it, which may take half a minute. Older servers omit it. */
            asleep_since?: string | null;
            /** @description Why the sandbox of the start before this one ended, such as for a move to another server. Null: a request restarted or stopped it, or there was none. Older servers omit it. */
            sandbox_ended?: string | null;
            /** @description The messages before this time were deleted, as old as the operator keeps them. Null: none were. */
            transcript_deleted_at?: string | null;
            /** @description When the server deleted the branch, because it was merged for as long as the operator keeps merged branches. A restart creates it again from the base branch. Null: it did not. Older servers omit it. */
            branch_deleted_at?: string | null;
        };
        TurnError: {
            code: string;
            message: string;
            /** Format: date-time */
            at: string;
        };
        SessionRefresh: {
            /**
             * @description `waiting`: until the turn of the agent ends.
             * @enum {string}
             */
            status: "waiting" | "done" | "failed";
            /**
             * @description `default_branch`: svc.toml or the agents changed there.
             * @enum {string}
             */
            cause: "request" | "default_branch";
            /** Format: date-time */
            requested_at: string;
            settled_at: string | null;
            /** @description The settings that changed and are in force, such as `sandbox.egress`. `agents` is the content of the config folder, `branch` are new commits of the session branch. */
            applied: string[];
            /** @description The settings that only a restart applies. */
            needs_restart: string[];
            /** @description Why the refresh failed, or why the session branch was not pulled. */
            error: string | null;
        };
        StartPhase: {
            name: string;
            /** Format: date-time */
            started_at: string;
            ms: number | null;
            error: string | null;
            /**
             * @description For a refresh: what it changed. For `queue`: the place in line. For `branch`: why it waits.
             * @default null
             */
            note: string | null;
        };
        Message: {
            message_id: string;
            /** @enum {string} */
            role: "user" | "assistant";
            /**
             * Format: uuid
             * @description The prompt that a message of role `user` delivers. Absent for an answer, for a message that the agent runtime added, and for messages of a sandbox that an earlier version started.
             */
            prompt_id?: string;
            /** Format: date-time */
            created_at: string;
            completed_at: string | null;
            error: string | null;
            /** @description Why the turn of the message ended without an answer, for programs, as in `last_turn_error`. `aborted`: a person stopped the turn. `sandbox_ended`: the session was stopped, moved, or reached a limit. `runtime_ended`: the agent runtime ended. `model_request_failed`, `model_auth_failed`, `output_limit_reached`, `context_limit_reached`: the model. Absent without an `error`, and for some messages of an earlier version. */
            error_code?: string;
            parts: components["schemas"]["MessagePart"][];
        };
        MessagePart: {
            /** @constant */
            type: "text";
            id: string;
            text: string;
        } | {
            /** @constant */
            type: "reasoning";
            id: string;
            text: string;
        } | {
            /** @constant */
            type: "tool";
            id: string;
            tool: string;
            /** @enum {string} */
            status: "pending" | "running" | "completed" | "error";
            title: string;
            input: string;
            output: string;
            /** @description The exit code of a command; null when it was killed, such as after its time limit. Absent for other tools. */
            exit_code?: number | null;
            duration_ms?: number;
            /** @description What an edit changed, as a unified diff. At most 64 KiB. */
            diff?: string;
            /** @description The tool calls of a sub-agent, the first hundred of them. */
            steps?: {
                tool: string;
                title: string;
                /** @enum {string} */
                status: "pending" | "running" | "completed" | "error";
                /** @description The exit code of a command; null when it was killed, such as after its time limit. Absent for other tools. */
                exit_code?: number | null;
                duration_ms?: number;
            }[];
        } | {
            /** Format: uuid */
            attachment_id: string;
            name: string;
            bytes: number;
            /** @description Detected from the first bytes of the file, never from its name. */
            content_type: string;
            /** @constant */
            type: "file";
            id: string;
        };
        SessionEvent: {
            /** @constant */
            type: "session";
            session: components["schemas"]["Session"];
        } | {
            /** @constant */
            type: "message";
            message: components["schemas"]["Message"];
        } | {
            /** @constant */
            type: "turn";
            /** @enum {string} */
            status: "busy" | "idle" | "error";
            error: string | null;
        } | {
            /** @constant */
            type: "question";
            question: components["schemas"]["Question"];
        };
        Question: {
            /** Format: uuid */
            question_id: string;
            /** @enum {string} */
            kind: "permission" | "question" | "connector";
            title: string;
            /** @description The command, change or choices that the question is about, then the note. May be empty. */
            detail: string;
            /** @description The words of the service at the end of `detail`, such as what `always` allows. May be empty. */
            note: string;
            options: {
                value: string;
                label: string;
            }[];
            /** @enum {string} */
            status: "open" | "answered" | "expired";
            /** @description One of the option values, or free text for `question`; null until a person answers. */
            answer: string | null;
            /** Format: date-time */
            asked_at: string;
            answered_by: string | null;
            /** @description Why the question expired. */
            reason: string | null;
        };
        ModelUpstream: {
            /**
             * @description `environment` takes precedence over `saved`.
             * @enum {string}
             */
            source: "environment" | "saved" | "none";
            url: string | null;
            /** @enum {string} */
            shape: "openai" | "anthropic";
            models: string[];
            has_key: boolean;
            updated_at: string | null;
        };
        ConfiguredModel: {
            id: string;
            name: string;
            default: boolean;
        };
        Usage: {
            /** Format: date */
            from: string;
            /** Format: date */
            to: string;
            /** @description Newest day first. */
            models: {
                /** Format: date */
                day: string;
                /** Format: uuid */
                project_id: string;
                model: string;
                calls: number;
                tokens_in: number;
                tokens_out: number;
            }[];
            /** @description Longest time first. */
            sandboxes: {
                /** Format: uuid */
                project_id: string;
                /** Format: uuid */
                session_id: string;
                seconds: number;
            }[];
            /** @description Most tokens first. */
            sessions: {
                /** Format: uuid */
                project_id: string;
                /** Format: uuid */
                session_id: string;
                /** @description Null when the session is deleted. */
                name: string | null;
                calls: number;
                tokens_in: number;
                tokens_out: number;
                sandbox_seconds: number;
            }[];
            totals: {
                calls: number;
                tokens_in: number;
                tokens_out: number;
                sandbox_seconds: number;
            };
            caps: components["schemas"]["UsageCap"][];
        };
        UsageCap: {
            /** @enum {string} */
            scope: "session" | "project" | "account";
            tokens: number;
            tokens_taken: number;
        };
        ProjectUsage: {
            /** Format: date */
            from: string;
            /** Format: date */
            to: string;
            /** @description Newest day first. */
            models: {
                /** Format: date */
                day: string;
                /** Format: uuid */
                project_id: string;
                model: string;
                calls: number;
                tokens_in: number;
                tokens_out: number;
            }[];
            /** @description Longest time first. */
            sandboxes: {
                /** Format: uuid */
                project_id: string;
                /** Format: uuid */
                session_id: string;
                seconds: number;
            }[];
            /** @description Most tokens first. */
            sessions: {
                /** Format: uuid */
                project_id: string;
                /** Format: uuid */
                session_id: string;
                /** @description Null when the session is deleted. */
                name: string | null;
                calls: number;
                tokens_in: number;
                tokens_out: number;
                sandbox_seconds: number;
            }[];
            totals: {
                calls: number;
                tokens_in: number;
                tokens_out: number;
                sandbox_seconds: number;
            };
            caps: components["schemas"]["UsageCap"][];
            storage: components["schemas"]["Storage"];
        };
        Storage: {
            /** @description In bytes, without unfinished work, which has a quota of its own. */
            repository_bytes: number;
            unfinished_work_bytes: number;
            transcript_bytes: number;
            check_log_bytes: number;
            /** @description The quota of the repository, in bytes. */
            limit_bytes: number;
            /** @description The quota of unfinished work, transcripts and check logs together, in bytes. */
            sessions_limit_bytes: number;
        };
        SessionChanges: {
            /** @description Where the branch left its base; null for unrelated histories and without commits. */
            base: string | null;
            /** @description The newest saved work, or the tip of the branch when everything is pushed. */
            head: string | null;
            /** @description At most 2,000. */
            files: {
                path: string;
                old_path: string | null;
                /** @enum {string} */
                status: "added" | "modified" | "deleted" | "renamed";
                additions: number;
                deletions: number;
                binary: boolean;
                /** @description Bytes before the change. */
                old_size?: number | null;
                /** @description Bytes after the change. */
                new_size?: number | null;
                /** @description Whether the branch has this content. */
                is_pushed: boolean;
            }[];
            files_changed: number;
            additions: number;
            deletions: number;
            /** @description Whether files or lines are left out. */
            truncated: boolean;
            /** @description Only with `include=patch`. Secrets are replaced. */
            patch?: string;
            /** @description When the unpushed part was saved; null when everything is pushed. */
            saved_at: string | null;
            unpushed_commits: number;
            /** @description What was left out, and why. */
            notes: string[];
        };
        UnfinishedWork: {
            saved_at: string | null;
            commit: string | null;
            base: string | null;
            files: number;
            paths: string[];
            unpushed_commits: number;
            notes: string[];
            generation: number | null;
            /** @description Whether the next start of the session puts it back into the work tree by itself, as after its server was taken over. Older servers omit it. */
            returns?: boolean;
            /** @description Saved work of earlier starts, newest first, until it is recovered. */
            earlier: components["schemas"]["SavedWork"][];
            /** @description Saved work that is lost, newest first: the repository does not have it any more, as after a restore of an older backup. Older servers omit it. */
            lost?: {
                generation: number;
                /** Format: date-time */
                saved_at: string;
                files: number;
                unpushed_commits: number;
            }[];
        };
        SavedWork: {
            generation: number;
            /** Format: date-time */
            saved_at: string;
            commit: string;
            /** @description The commit that was checked out; null when the sandbox had no repository. */
            base: string | null;
            files: number;
            paths: string[];
            /** @description Commits that were never pushed. */
            unpushed_commits: number;
            /** @description What was left out, and why. */
            notes: string[];
        };
        SessionFiles: {
            /** @constant */
            type: "directory";
            path: string;
            /**
             * @description `sandbox` is the work tree as it is now.
             * @enum {string}
             */
            source: "sandbox" | "saved";
            /** @description When the unfinished work was saved. Null for a sandbox, and for a branch without unfinished work. */
            saved_at: string | null;
            /** @description Compared with the commit that is checked out. `new` is not committed, `ignored` is left out by git. Null when git did not say. */
            git: ("committed" | "changed" | "new" | "ignored") | null;
            /** @description What is left out, and why. */
            notes: string[];
            /** @description Folders first, each by name; at most 5,000. */
            entries: {
                name: string;
                path: string;
                /** @enum {string} */
                type: "file" | "executable" | "directory" | "symlink" | "submodule" | "special";
                size: number | null;
                /** @description Compared with the commit that is checked out. `new` is not committed, `ignored` is left out by git. Null when git did not say. */
                git: ("committed" | "changed" | "new" | "ignored") | null;
            }[];
            /** @description Whether the folder has more entries. */
            truncated: boolean;
        } | {
            /** @enum {string} */
            type: "file" | "executable";
            path: string;
            /**
             * @description `sandbox` is the work tree as it is now.
             * @enum {string}
             */
            source: "sandbox" | "saved";
            /** @description When the unfinished work was saved. Null for a sandbox, and for a branch without unfinished work. */
            saved_at: string | null;
            /** @description Compared with the commit that is checked out. `new` is not committed, `ignored` is left out by git. Null when git did not say. */
            git: ("committed" | "changed" | "new" | "ignored") | null;
            /** @description What is left out, and why. */
            notes: string[];
            size: number;
            binary: boolean;
            /**
             * @description `base64` for content that is not UTF-8.
             * @enum {string}
             */
            encoding: "utf-8" | "base64";
            /** @description Secrets are replaced. */
            content: string;
            /** @description Whether `content` is not the whole file. */
            truncated: boolean;
        } | {
            /** @constant */
            type: "symlink";
            path: string;
            /**
             * @description `sandbox` is the work tree as it is now.
             * @enum {string}
             */
            source: "sandbox" | "saved";
            /** @description When the unfinished work was saved. Null for a sandbox, and for a branch without unfinished work. */
            saved_at: string | null;
            /** @description Compared with the commit that is checked out. `new` is not committed, `ignored` is left out by git. Null when git did not say. */
            git: ("committed" | "changed" | "new" | "ignored") | null;
            /** @description What is left out, and why. */
            notes: string[];
            target: string;
        } | {
            /** @constant */
            type: "special";
            path: string;
            /**
             * @description `sandbox` is the work tree as it is now.
             * @enum {string}
             */
            source: "sandbox" | "saved";
            /** @description When the unfinished work was saved. Null for a sandbox, and for a branch without unfinished work. */
            saved_at: string | null;
            /** @description Compared with the commit that is checked out. `new` is not committed, `ignored` is left out by git. Null when git did not say. */
            git: ("committed" | "changed" | "new" | "ignored") | null;
            /** @description What is left out, and why. */
            notes: string[];
        };
        ChangeRequestDiff: {
            /** Format: uuid */
            cr_id: string;
            base_ref: string;
            head_ref: string;
            base_sha: string;
            head_sha: string;
            merge_base: string | null;
            files: components["schemas"]["DiffFile"][];
            files_changed: number;
            additions: number;
            deletions: number;
            patch: string;
            truncated: boolean;
            /** @description Only with `ignore_whitespace`: files that differ in whitespace alone. They are not in `files` and not counted. */
            whitespace_only?: string[];
            /** @description Only with `since`. */
            since?: {
                sha: string;
                /** @description Whether the commit is no longer part of the head branch. */
                rewritten: boolean;
                /** @description Whether the branch merged more of its base since. Those changes are left out. */
                base_moved: boolean;
                /** @description Files in which the base and the earlier work conflict. Their diff starts from the conflict markers. */
                conflicts: string[];
            };
        };
        HostPullRequest: {
            /** @description Why the git host does not let the service push to the base branch; null when it does, as far as the server knows. */
            protection: {
                branch: string;
                reason: string;
                /** @enum {string} */
                found_by: "api" | "push";
                /** Format: date-time */
                found_at: string;
            } | null;
            /** @description Whether the git host has an API that can open pull requests. */
            can_open: boolean;
            pull_request: {
                number: number;
                url: string;
                /** Format: date-time */
                created_at: string;
            } | null;
        };
        ReadingGuide: {
            /** Format: uuid */
            cr_id: string;
            base_sha: string;
            head_sha: string;
            /** @description The changed files in an order to read them, from their imports and sizes: what others import first, then what imports it; each test after what it tests; generated and lock files last. */
            order: {
                path: string;
                /** @enum {string} */
                kind: "source" | "test" | "other" | "generated";
                /** @description How many of the other changed files import it. */
                imported_by: number;
                /** @description The changed file that this test tests. */
                tests: string | null;
            }[];
            /** @description Blocks of at least three lines that the patch removes in one place and adds in another, in the order of the patch. Differences in outer white space are ignored. */
            moves: {
                /** @description The first of its lines before the change. */
                from: {
                    path: string;
                    line: number;
                };
                /** @description The first of its lines after the change. */
                to: {
                    path: string;
                    line: number;
                };
                lines: number;
                /** @description Whether the lines differ in their indentation. */
                reindented: boolean;
            }[];
            /** @description Whether files or moves were left out, because there are too many. */
            truncated: boolean;
        };
        ChangeRequestSummary: {
            /** @description Whether an open one can land, as far as the server knows; null for the others. `confirm`: ready, except that a person has to confirm effects of the merge. `checking`: not known yet, or its checks run. `base_merged`: ready, but its base was merged elsewhere without it. `collides`: ready, but another open one conflicts once it has landed. `empty`: the base has all commits. `failing`: a check failed. `manifest_invalid`: svc.toml of the head has errors, and the project requires a valid one. `branch_deleted`: one of its branches no longer exists. */
            state: ("ready" | "confirm" | "base_merged" | "collides" | "empty" | "checking" | "unreachable" | "failing" | "manifest_invalid" | "conflicts" | "branch_deleted") | null;
            session: {
                /** Format: uuid */
                session_id: string;
                name: string;
                agent_name: string;
            } | null;
            /** @description The name of the user who opened it. */
            author: string | null;
            /** @description The first other open change requests with the same head and base. Left out when there are none. */
            same_branches?: number[];
            /** @description Its merge was acknowledged, and lost when this server was taken over without it. It stays merged; open a new change request of the head branch to merge it again. Left out for others. */
            merge_lost?: {
                server: string;
                /** Format: date-time */
                at: string;
            };
            /** @description The first files that conflict with the base. */
            conflicts: string[];
            /** @description Null: not known yet. */
            conflict_count: number | null;
            /** @description How many effects of the merge a person has to confirm. Null: not known yet. */
            confirm_count: number | null;
            /** @description The checks on the merge of the current commits; null when there are none, or when they have not started. */
            checks: {
                defined: number;
                passed: number;
                /** @description The names of those that failed. */
                failed: string[];
                running: number;
            } | null;
            /** @description Null: not known yet, or too long to count. */
            additions: number | null;
            deletions: number | null;
            files: number | null;
            /** @description The changed file to name: svc.toml before others. */
            touches: string | null;
            /** @description Open change requests of the same base that conflict once this one has landed. Null: not compared yet. */
            collisions: {
                number: number;
                title: string;
                files: string[];
            }[] | null;
            reviews: number;
            /** @description The comments of all its reviews. */
            comments: number;
        };
        MergePreview: {
            base_sha: string;
            head_sha: string;
            merge_base: string | null;
            is_up_to_date: boolean;
            can_merge: boolean;
            can_fast_forward: boolean;
            conflicts: string[];
            /** @description Only with `include=collisions`: open change requests of the same base that would conflict after this merge, newest first. */
            collisions?: {
                number: number;
                files: string[];
            }[];
            /** @description Whether there are more open change requests than the server compared. */
            collisions_truncated?: boolean;
            /** @description Only with `include=effects`: what merging does beyond code. */
            effects?: components["schemas"]["MergeEffects"];
        };
        ChangeRequestOrigins: {
            head_sha: string;
            path: string;
            /** @description Every added line, and the removed lines of changes that only remove. */
            lines: components["schemas"]["LineOrigin"][];
            /** @description The named calls, oldest first. */
            calls: components["schemas"]["OriginCall"][];
            prompts: {
                message_id: string;
                /** Format: uuid */
                session_id: string;
                /** @description The first 600 characters. */
                text: string;
                truncated: boolean;
                /** Format: date-time */
                at: string;
            }[];
            commits: {
                sha: string;
                author_name: string;
                /** Format: date-time */
                authored_at: string;
                subject: string;
                /** @description Whether its author is the git identity of sandboxes. Git does not verify authors. */
                by_agent: boolean;
            }[];
            /** @description The sessions whose transcripts were read: of the head branch, and those that they started. */
            sessions: {
                /** Format: uuid */
                session_id: string;
                name: string;
            }[];
            /** @description There are sessions whose transcripts you may not read. */
            withheld: boolean;
            /** @description Only the newest part of the transcripts was read. */
            truncated: boolean;
        };
        LineOrigin: {
            /**
             * @description `old`: removed lines, with their numbers in the file before the change.
             * @enum {string}
             */
            side: "new" | "old";
            /** @description The first line, counted from 1. */
            start: number;
            /** @description The last line. */
            end: number;
            /** @description The tool call that wrote these lines, or removed them. Lines are compared without their indentation. Null: the transcript does not show one. */
            call_id: string | null;
            /** @description The commit that last changed these lines. Null for removed lines. */
            commit_sha: string | null;
            /** @description Tool calls that may have written them, where `call_id` is null. `same_text`: wrote the same text into this file. `names_file`: a command that names the file and ran before the commit. `ran_before_commit`: another command before the commit. `sub_agent`: its sub-agent changed the file. `cut`: the stored call is too long to compare. */
            candidates: {
                call_id: string;
                /** @enum {string} */
                reason: "same_text" | "names_file" | "ran_before_commit" | "sub_agent" | "cut";
            }[];
        };
        OriginCall: {
            /** @description The id of the part in the transcript. */
            call_id: string;
            message_id: string;
            /** Format: uuid */
            session_id: string;
            /** @description The `message_id` of the prompt that it worked on. */
            prompt_id: string | null;
            tool: string;
            /** @description The file or the command. */
            title: string;
            /**
             * Format: date-time
             * @description When the message of the call began.
             */
            at: string;
        };
        ChangeRequestChecks: {
            /**
             * @description `none`: svc.toml of the default branch has no checks. `not_run`: they cannot run; `reason` says why. `running`: at least one has not ended. `failed`: all ended, and not all passed.
             * @enum {string}
             */
            state: "none" | "not_run" | "running" | "failed" | "passed";
            reason: string | null;
            base_sha: string | null;
            head_sha: string | null;
            /** @description The tree of the merge. Results belong to this tree. */
            tree_sha: string | null;
            /** @description In the order of svc.toml. */
            checks: components["schemas"]["Check"][];
        };
        Check: {
            /** @description The name in svc.toml on the default branch. */
            name: string;
            command: string;
            /**
             * @description `passed`: the command ended with exit code 0. `failed`: with another one, or it took too long. `error`: it could not run; `reason` says why. `cancelled`: it was no longer needed.
             * @enum {string}
             */
            status: "queued" | "running" | "passed" | "failed" | "error" | "cancelled";
            /** @description Null until the check is queued. */
            run_id: string | null;
            /** @description Counts the runs of this check on the same tree. */
            attempt: number;
            exit_code: number | null;
            /** @description Why the check did not pass. */
            reason: string | null;
            created_at: string | null;
            started_at: string | null;
            ended_at: string | null;
        };
        CheckLogLine: {
            /** Format: date-time */
            at: string;
            /**
             * @description `svc` marks lines of the service itself.
             * @enum {string}
             */
            stream: "output" | "svc";
            text: string;
        };
        Review: {
            /** Format: uuid */
            review_id: string;
            /** Format: uuid */
            cr_id: string;
            /** @description The head that the reviewer read. */
            head_sha: string;
            body: string;
            comments: components["schemas"]["ReviewThread"][];
            /** @description The thread of the text of a review without comments. */
            thread?: components["schemas"]["ReviewTextThread"] | null;
            created_by: string | null;
            created_by_name: string | null;
            /** @description The session that got the review; null when the review was only stored. */
            session_id: string | null;
            /** Format: date-time */
            created_at: string;
            /** @description The head that answers the review and when the service saw it: once every comment is answered, or once a commit on the branch names the review in a `Review:` trailer. */
            answer: {
                head_sha: string;
                /** Format: date-time */
                seen_at: string;
            } | null;
        };
        ReviewThread: {
            path: string;
            /**
             * @description Whether `line` counts in the file before or after the change.
             * @enum {string}
             */
            side: "old" | "new";
            line: number;
            /**
             * @description The first line of a range that ends with `line`.
             * @default null
             */
            start_line: number | null;
            /**
             * @description The lines as the reviewer saw them.
             * @default
             */
            quote: string;
            text: string;
            /** Format: uuid */
            comment_id: string;
            /**
             * @description `answered`: done or declined. Only people resolve.
             * @enum {string}
             */
            state: "open" | "answered" | "resolved";
            /** @description The answer that counts. A reply that is sent to the session asks again. */
            answer: {
                /** @enum {string} */
                outcome: "done" | "declined";
                commit: string | null;
                /** Format: date-time */
                answered_at: string;
            } | null;
            replies: components["schemas"]["ReviewReply"][];
            resolved_at: string | null;
            resolved_by_name: string | null;
            /** @description Whether its lines changed since the review. */
            outdated: boolean;
            /** @description Where its lines are in the current head; null when they changed. */
            current: {
                path: string;
                line: number;
                start_line: number | null;
            } | null;
            /** @description The first `suggestion` block of `text`. */
            suggestion?: {
                /** @description They replace the commented lines. None deletes these. */
                lines: string[];
                /** @description Why it cannot be applied, or null. */
                refusal: string | null;
            } | null;
        };
        ReviewReply: {
            /** Format: uuid */
            reply_id: string;
            text: string;
            /** @description Set when the reply answers the comment. */
            outcome: ("done" | "declined") | null;
            /** @description The commit that did what the comment asks for. */
            commit: string | null;
            created_by: string | null;
            created_by_name: string | null;
            /** @description The session whose agent wrote it; null for a person. */
            session_id: string | null;
            /** Format: date-time */
            created_at: string;
        };
        ReviewTextThread: {
            /** Format: uuid */
            comment_id: string;
            /**
             * @description `answered`: done or declined. Only people resolve.
             * @enum {string}
             */
            state: "open" | "answered" | "resolved";
            /** @description The answer that counts. A reply that is sent to the session asks again. */
            answer: {
                /** @enum {string} */
                outcome: "done" | "declined";
                commit: string | null;
                /** Format: date-time */
                answered_at: string;
            } | null;
            replies: components["schemas"]["ReviewReply"][];
            resolved_at: string | null;
            resolved_by_name: string | null;
        };
        AppliedSuggestions: {
            commit: string;
            change_request: components["schemas"]["ChangeRequest"];
            /** @description The reviews of these comments. */
            reviews: components["schemas"]["Review"][];
        };
        OpenWork: {
            /** Format: uuid */
            project_id: string;
            /** @description The open change requests, with drafts. Null for a viewer. */
            change_requests: number | null;
            /** @description The live sessions: those that run, and those on their way to it. */
            sessions: number;
            /** @description The items to answer, to review and to unblock in the inbox of the caller. */
            needs_you: number;
        };
        InboxItem: {
            /** @description Names the item as long as it exists, such as `change_request.<id>`. */
            key: string;
            /** @enum {string} */
            kind: "question" | "approval" | "change_request" | "session";
            /**
             * @description What it needs.
             * @enum {string}
             */
            group: "answer" | "review" | "unblock" | "running";
            /**
             * @description `checking`: the server does not know yet whether it merges, or its checks run. `confirm`: ready, except that a person has to confirm effects of the merge. `base_merged`: ready, but its base was merged elsewhere without it.
             * @enum {string}
             */
            state: "permission" | "question" | "connector" | "ready" | "confirm" | "base_merged" | "answered" | "collides" | "checking" | "unreachable" | "empty" | "conflicts" | "branch_deleted" | "manifest_invalid" | "failing" | "failed" | "turn_failed" | "starting" | "working" | "idle";
            /** @description Changes when the item needs a new look. Send it back to put the item away. */
            version: string;
            project: {
                /** Format: uuid */
                project_id: string;
                slug: string;
                name: string;
            };
            title: string;
            /** @description One line: why it is here. */
            why: string;
            /** @description The beginning of the first prompt of a session. */
            task: string | null;
            /** @description The number of a change request. */
            number: number | null;
            cr_id: string | null;
            question_id: string | null;
            /** @description The session that asks, that made the change request, or that failed. */
            session: {
                /** Format: uuid */
                session_id: string;
                name: string;
                agent_name: string;
            } | null;
            /** @description The name of the user behind it. */
            author: string | null;
            /** @description Null: not known yet, or too long to count. */
            additions: number | null;
            deletions: number | null;
            /** Format: date-time */
            updated_at: string;
            snoozed_until: string | null;
        };
        InboxCounts: {
            answer: number;
            review: number;
            unblock: number;
            running: number;
        };
        InboxMark: {
            /**
             * @description `ready`: the stream has begun; read the inbox. `changed`: read it again.
             * @enum {string}
             */
            type: "ready" | "changed";
            /** @description The projects that the stream follows, or in which something happened. */
            project_ids: string[];
        };
        FoundChangeRequest: {
            /** Format: uuid */
            cr_id: string;
            number: number;
            title: string;
            head_ref: string;
            /** @description Left out when it is the default branch of the project. */
            base_ref?: string;
            /** @enum {string} */
            status: "open" | "merged" | "closed";
            project: {
                /** Format: uuid */
                project_id: string;
                slug: string;
                name: string;
            };
        };
        FoundSession: {
            /** Format: uuid */
            session_id: string;
            name: string;
            agent_name: string;
            /** @enum {string} */
            status: "queued" | "branching" | "provisioning" | "running" | "stopped" | "failed" | "completed";
            project: {
                /** Format: uuid */
                project_id: string;
                slug: string;
                name: string;
            };
        };
        ReviewState: {
            /** @description The version of each viewed file, as the page names it, by path. */
            viewed: {
                [key: string]: string;
            };
            /** @description Oldest first. */
            drafts: {
                path: string;
                /**
                 * @description Whether `line` counts in the file before or after the change.
                 * @enum {string}
                 */
                side: "old" | "new";
                line: number;
                /**
                 * @description The first line of a range that ends with `line`.
                 * @default null
                 */
                start_line: number | null;
                /**
                 * @description The lines as the reviewer saw them.
                 * @default
                 */
                quote: string;
                text: string;
                /** Format: uuid */
                draft_id: string;
            }[];
            /** @description The head that you saw last. */
            visit: {
                head_sha: string;
                /** Format: date-time */
                visited_at: string;
            } | null;
            /** @description The head that you saw before that one. */
            earlier_visit: {
                head_sha: string;
                /** Format: date-time */
                visited_at: string;
            } | null;
            /** @description How you read the files of every change request; null until you choose. */
            file_order: ("folders" | "guided") | null;
        };
        ChangeRequestVersion: {
            /** @description 1 is the first one. */
            number: number;
            /** @description The head before; null for the first version. */
            from_sha: string | null;
            head_sha: string;
            /** @description The tip of the base branch then, where it is known. */
            base_sha: string | null;
            /**
             * Format: date-time
             * @description When the service saw the push.
             */
            seen_at: string;
        };
        TriggerSlot: {
            /** Format: uuid */
            slot_id: string;
            /** @enum {string} */
            kind: "cron" | "webhook" | "manual";
            /** Format: date-time */
            due_at: string;
            /**
             * @description `failed`: the session did not start, or its first turn failed.
             * @enum {string}
             */
            status: "claimed" | "fired" | "skipped" | "failed";
            fired_at: string | null;
            session_id: string | null;
            /** @description Why the trigger has not fired, or failed. */
            reason: string | null;
            /** @description Whether it fired late, for this slot and the missed ones before. */
            caught_up: boolean;
            /** Format: date-time */
            created_at: string;
        };
        Trigger: {
            slug: string;
            /** @description The same as slug. */
            name: string;
            /** @enum {string} */
            type: "cron" | "webhook";
            enabled: boolean;
            cron: string | null;
            timezone: string;
            run_at: string | null;
            /** @description `cron` or `run_at` in words, in `timezone`; null for a webhook. Older servers omit it. */
            schedule?: string | null;
            agent: string | null;
            model: string | null;
            prompt: string;
            /** @description The same as prompt, with its placeholders unfilled. */
            prompt_template: string;
            secret_env: string | null;
            last_fired_at: string | null;
            next_fire_at: string | null;
            /** @description `next_fire_at` and the two times after it. Older servers omit it. */
            next_fire_times?: string[];
            webhook_url: string | null;
        };
        ProjectEvent: {
            /** @description Counts the events of a project without gaps. */
            id: number;
            /** Format: uuid */
            project_id: string;
            /** Format: date-time */
            created_at: string;
            /** @description The user behind the event, and the session when an agent acted. Null when the service acted by itself. */
            actor: {
                /** Format: uuid */
                user_id: string;
                session_id: string | null;
            } | null;
            /** @enum {string} */
            type: "change_request.opened" | "change_request.updated" | "change_request.conflicted" | "change_request.clean" | "change_request.reviewed" | "change_request.merged" | "change_request.closed" | "change_request.reopened";
            data: components["schemas"]["ChangeRequestEventData"];
        } | {
            /** @description Counts the events of a project without gaps. */
            id: number;
            /** Format: uuid */
            project_id: string;
            /** Format: date-time */
            created_at: string;
            /** @description The user behind the event, and the session when an agent acted. Null when the service acted by itself. */
            actor: {
                /** Format: uuid */
                user_id: string;
                session_id: string | null;
            } | null;
            /** @enum {string} */
            type: "session.provisioning" | "session.running" | "session.turn_ended" | "session.refreshed" | "session.stopped" | "session.failed" | "session.deleted" | "session.question_asked" | "session.question_answered";
            data: components["schemas"]["SessionEventData"];
        } | {
            /** @description Counts the events of a project without gaps. */
            id: number;
            /** Format: uuid */
            project_id: string;
            /** Format: date-time */
            created_at: string;
            /** @description The user behind the event, and the session when an agent acted. Null when the service acted by itself. */
            actor: {
                /** Format: uuid */
                user_id: string;
                session_id: string | null;
            } | null;
            /** @enum {string} */
            type: "trigger.fired" | "trigger.missed";
            data: components["schemas"]["TriggerEventData"];
        } | {
            /** @description Counts the events of a project without gaps. */
            id: number;
            /** Format: uuid */
            project_id: string;
            /** Format: date-time */
            created_at: string;
            /** @description The user behind the event, and the session when an agent acted. Null when the service acted by itself. */
            actor: {
                /** Format: uuid */
                user_id: string;
                session_id: string | null;
            } | null;
            /** @enum {string} */
            type: "deploy.started" | "deploy.live" | "deploy.failed" | "deploy.stopped";
            data: components["schemas"]["DeployEventData"];
        } | {
            /** @description Counts the events of a project without gaps. */
            id: number;
            /** Format: uuid */
            project_id: string;
            /** Format: date-time */
            created_at: string;
            /** @description The user behind the event, and the session when an agent acted. Null when the service acted by itself. */
            actor: {
                /** Format: uuid */
                user_id: string;
                session_id: string | null;
            } | null;
            /** @enum {string} */
            type: "check.started" | "check.finished";
            data: components["schemas"]["CheckEventData"];
        } | {
            /** @description Counts the events of a project without gaps. */
            id: number;
            /** Format: uuid */
            project_id: string;
            /** Format: date-time */
            created_at: string;
            /** @description The user behind the event, and the session when an agent acted. Null when the service acted by itself. */
            actor: {
                /** Format: uuid */
                user_id: string;
                session_id: string | null;
            } | null;
            /** @constant */
            type: "default_branch.moved";
            data: components["schemas"]["BranchEventData"];
        };
        ChangeRequestEventData: {
            /** Format: uuid */
            cr_id: string;
            number: number;
            title: string;
            /** @enum {string} */
            status: "open" | "merged" | "closed";
            base_ref: string;
            head_ref: string;
            base_commit_sha: string | null;
            head_commit_sha: string | null;
            merge_commit_sha: string | null;
            origin_session_id: string | null;
            /** @description For `updated`: the fields that changed, of `head`, `head_branch`, `title`, `description`, `metadata` and `reviews`. `head_branch`: the head branch was deleted after the merge. */
            changed?: string[];
            /** @description For `conflicted`: the first paths that conflict. */
            conflicts?: string[];
            /** @description For `reviewed`. */
            review?: {
                /** Format: uuid */
                review_id: string;
                comments: number;
                session_id: string | null;
            };
        };
        SessionEventData: {
            /** Format: uuid */
            session_id: string;
            name: string;
            agent_name: string;
            branch_name: string;
            generation: number;
            /** @description Why the session stopped or failed, why its turn or refresh failed, or why its question expired. */
            reason: string | null;
            /** @description For `question_asked` and `question_answered`. An expired question is reported as answered, with the status `expired`. */
            question?: {
                /** Format: uuid */
                question_id: string;
                /** @enum {string} */
                kind: "permission" | "question" | "connector";
                title: string;
                /** @enum {string} */
                status: "open" | "answered" | "expired";
            };
            /** @description For `refreshed`. */
            refresh?: {
                /**
                 * @description `waiting`: until the turn of the agent ends.
                 * @enum {string}
                 */
                status: "waiting" | "done" | "failed";
                /**
                 * @description `default_branch`: svc.toml or the agents changed there.
                 * @enum {string}
                 */
                cause: "request" | "default_branch";
                /** @description The settings that changed and are in force, such as `sandbox.egress`. `agents` is the content of the config folder, `branch` are new commits of the session branch. */
                applied: string[];
                /** @description The settings that only a restart applies. */
                needs_restart: string[];
            };
        };
        TriggerEventData: {
            slug: string;
            /** Format: uuid */
            slot_id: string;
            /** @enum {string} */
            kind: "cron" | "webhook" | "manual";
            /** Format: date-time */
            due_at: string;
            session_id: string | null;
            /** @description Why the trigger did not fire. */
            reason: string | null;
        };
        DeployEventData: {
            app: string;
            /** Format: uuid */
            deploy_id: string;
            commit_sha: string | null;
            url: string | null;
            reason: string | null;
        };
        CheckEventData: {
            /** Format: uuid */
            cr_id: string;
            number: number;
            check: string;
            /** Format: uuid */
            run_id: string;
            attempt: number;
            /**
             * @description `passed`: the command ended with exit code 0. `failed`: with another one, or it took too long. `error`: it could not run; `reason` says why. `cancelled`: it was no longer needed.
             * @enum {string}
             */
            status: "queued" | "running" | "passed" | "failed" | "error" | "cancelled";
            tree_sha: string;
            /** @description Why the check did not pass. */
            reason: string | null;
        };
        BranchEventData: {
            branch: string;
            /** @description Null when the branch had no commit. */
            before: string | null;
            sha: string | null;
        };
        StreamMark: {
            /**
             * @description `ready`: the stream begins after this id. `reset`: the events up to this id cannot be sent; read the state again.
             * @enum {string}
             */
            type: "ready" | "reset";
            id: number;
        };
        Channel: {
            /** Format: uuid */
            channel_id: string;
            /** @enum {string} */
            platform: "slack";
            workspace_id: string;
            workspace_name: string;
            /** @description The name of the app in the workspace. */
            bot_name: string;
            /** @description The platform's id of the channel. */
            conversation_id: string;
            conversation_name: string;
            /** @description Whether people outside the workspace can read the channel. */
            shared_externally: boolean;
            /** @description Whether members of the workspace without a linked user act for the user who connected the channel. */
            allow_unlinked: boolean;
            /** @description The agent from svc.toml on the default branch; null for the default agent. */
            agent: string | null;
            events: string[];
            /** @description Why messages are not delivered now. */
            error: string | null;
            waiting: number;
            connected_by: string | null;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
        };
        ChannelThread: {
            session_id: string | null;
            started_by: string | null;
            author: string;
            /** Format: date-time */
            created_at: string;
        };
        ChannelDelivery: {
            /** @enum {string} */
            kind: "answer" | "state" | "card" | "reply";
            /** @enum {string} */
            status: "waiting" | "sent" | "failed";
            attempts: number;
            error: string | null;
            /** Format: date-time */
            updated_at: string;
            sent_at: string | null;
        };
        ChannelLink: {
            /** Format: uuid */
            link_id: string;
            /** Format: uuid */
            account_id: string;
            /** @enum {string} */
            platform: "slack";
            workspace_id: string;
            workspace_name: string;
            chat_user_id: string;
            chat_user_name: string;
            /** Format: uuid */
            user_id: string;
            /** Format: date-time */
            created_at: string;
        };
        ChatSetup: {
            /** @enum {string} */
            platform: "slack";
            events_url: string;
            interactions_url: string;
            /** @description For "Create an app from a manifest" on the platform. */
            app_manifest: {
                [key: string]: unknown;
            };
            /** @description Why the platform cannot reach this server; null when it probably can. */
            warning: string | null;
        };
        WebhookDelivery: {
            /** Format: uuid */
            delivery_id: string;
            /** @description Null for a ping. */
            event_id: number | null;
            event_type: string;
            /**
             * @description `waiting`: not delivered yet. `failed`: given up.
             * @enum {string}
             */
            status: "waiting" | "delivered" | "failed";
            attempts: number;
            http_status: number | null;
            /** @description Why the last attempt failed. */
            error: string | null;
            /** @description The beginning of the receiver's last answer, at most 1 KiB. */
            answer: string | null;
            ms: number | null;
            /** Format: date-time */
            created_at: string;
            last_attempt_at: string | null;
        };
        Webhook: {
            /** Format: uuid */
            webhook_id: string;
            /** Format: uuid */
            project_id: string;
            url: string;
            events: string[];
            /**
             * @description `retrying`: the last attempt failed; the next one is at `next_attempt_at`.
             * @enum {string}
             */
            state: "active" | "retrying" | "paused";
            /** @description Why the webhook is paused, or why the last attempt failed. */
            reason: string | null;
            /** @description The last event that was delivered or skipped. */
            last_event: number;
            /** @description Attempts to deliver the event that is pending. */
            attempts: number;
            next_attempt_at: string | null;
            created_by: string | null;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
        };
        App: {
            slug: string;
            /**
             * @description `off`: the operator turned deployment off. `disabled`: by svc.toml. `waiting`: never deployed.
             * @enum {string}
             */
            state: "running" | "restarting" | "deploying" | "stopped" | "failed" | "disabled" | "off" | "waiting";
            /** @description The address for members of the project. It redirects a browser without a ticket to the dashboard. */
            url: string;
            enabled: boolean;
            /** @description Why the app is in this state, and what to do about it; null when there is nothing to explain. */
            reason: string | null;
            command: string | null;
            static_dir: string | null;
            build: string | null;
            port: number;
            /** @description Names of the secrets that the manifest entry asks for. */
            secrets: string[];
            /** @description The deploy that is served now. */
            live: components["schemas"]["AppDeploy"] | null;
            /** @description The deploy that is about to take over. */
            next: components["schemas"]["AppDeploy"] | null;
            /** @description Newest first. */
            deploys: components["schemas"]["AppDeploy"][];
        };
        AppDeploy: {
            /** Format: uuid */
            deploy_id: string;
            number: number;
            /**
             * @description `queued`, `building`, `starting`: on its way. `running`, `restarting`: live. `replaced`, `stopped`: was live. `failed`: never live, or given up; `error` has the reason. `cancelled`: superseded by a deploy, a stop or the manifest.
             * @enum {string}
             */
            status: "queued" | "building" | "starting" | "running" | "restarting" | "replaced" | "stopped" | "failed" | "cancelled";
            /** @description Identifies the manifest entry, the files it is built from, and the secrets it names. */
            hash: string;
            commit_sha: string;
            /** @enum {string} */
            cause: "default_branch" | "request" | "rollback";
            /** @description The number of the deploy that this rollback repeats. */
            rollback_of: number | null;
            error: string | null;
            created_by: string | null;
            /** Format: date-time */
            created_at: string;
            ready_at: string | null;
            ended_at: string | null;
        };
        AppLog: {
            deploy: components["schemas"]["AppDeploy"] | null;
            lines: components["schemas"]["AppLogLine"][];
            /** @description Whether there are lines before the first one. */
            truncated: boolean;
        };
        AppLogLine: {
            /** Format: date-time */
            at: string;
            /**
             * @description `svc` marks lines of the service itself.
             * @enum {string}
             */
            stream: "build" | "run" | "svc";
            text: string;
        };
        HostWebhook: {
            /** @description The URL to enter at the git host. */
            url: string;
            /** @description Null until a secret is created. Without one, calls are refused. */
            secret: string | null;
            last_call_at: string | null;
            /** @description The kind of sender of that call: `github`, `gitlab`, `gitea` or `plain`. */
            last_sender: string | null;
        };
        Connector: {
            slug: string;
            /** @enum {string} */
            type: "mcp" | "http";
            url: string;
            auth: {
                /** @enum {string} */
                type: "bearer" | "header" | "oauth";
                secret_env: string | null;
                header: string | null;
            } | null;
            /**
             * @description `unchecked`: the tools were not read yet. `off`: the operator offers no connectors.
             * @enum {string}
             */
            status: "unchecked" | "ready" | "failed" | "off";
            /** @description Why there are no tools. */
            error: string | null;
            hint: string | null;
            checked_at: string | null;
            /** @description The policy a person set for all tools. Null is the default: reading is allowed, everything else asks. */
            policy: ("allow" | "ask" | "block") | null;
            tools: components["schemas"]["ConnectorTool"][];
        };
        ConnectorTool: {
            /** @description The name that the connector uses. */
            name: string;
            /** @description The name that the gateway offers to agents. */
            offered_as: string;
            description: string;
            /** @description Whether the connector declares that the tool changes nothing. */
            read_only: boolean;
            /**
             * @description The policy in force.
             * @enum {string}
             */
            policy: "allow" | "ask" | "block";
            /** @description The policy a person set for this tool; null when the connector's policy or the default applies. */
            decided: ("allow" | "ask" | "block") | null;
        };
        ConnectorApproval: {
            /** Format: uuid */
            approval_id: string;
            session_id: string | null;
            slug: string;
            tool: string;
            /** @description The arguments of the call, without the values of secrets. */
            arguments: {
                [key: string]: unknown;
            };
            /** @enum {string} */
            status: "pending" | "approved" | "denied" | "used" | "expired";
            decided_by: string | null;
            decided_at: string | null;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            expires_at: string;
        };
        ConnectorCall: {
            /** Format: date-time */
            at: string;
            session_id: string | null;
            tool: string;
            /** @enum {string} */
            outcome: "ok" | "tool_error" | "failed" | "blocked" | "denied" | "unanswered" | "refused";
            ms: number;
            /** @description The names of the arguments, never their values. */
            arguments: string[];
        };
        ReviewComment: {
            path: string;
            /**
             * @description Whether `line` counts in the file before or after the change.
             * @enum {string}
             */
            side: "old" | "new";
            line: number;
            /**
             * @description The first line of a range that ends with `line`.
             * @default null
             */
            start_line?: number | null;
            /**
             * @description The lines as the reviewer saw them.
             * @default
             */
            quote?: string;
            text: string;
        };
        DraftComment: {
            path: string;
            /**
             * @description Whether `line` counts in the file before or after the change.
             * @enum {string}
             */
            side: "old" | "new";
            line: number;
            /**
             * @description The first line of a range that ends with `line`.
             * @default null
             */
            start_line?: number | null;
            /**
             * @description The lines as the reviewer saw them.
             * @default
             */
            quote?: string;
            text: string;
        };
    };
    responses: {
        /** @description The server failed. The log has the cause under the request id. */
        Internal: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
    };
    parameters: {
        /** @description The id of the project, or its slug. */
        projectId: string;
        serverName: string;
        /** @description The id of the account. */
        accountId: string;
        /** @description The user id of the member, or the id of a pending invitation. */
        userId: string;
        dashboardSessionId: string;
        invitationId: string;
        tokenId: string;
        name: string;
        /** @description The id of the session. */
        sessionId: string;
        promptId: string;
        attachmentId: string;
        questionId: string;
        /** @description The id of the change request. */
        crId: string;
        runId: string;
        commentId: string;
        key: string;
        /** @description The slug from svc.toml. */
        slug: string;
        channelId: string;
        linkId: string;
        webhookId: string;
        deliveryId: string;
        approvalId: string;
        /** @description A key of your choice for this one request. Sent again with the same body, the request gets the first answer; with another body, `idempotency_mismatch`. */
        IdempotencyKey: string;
    };
    requestBodies: never;
    headers: {
        /** @description Leads to the next page: `<…>; rel="next"`. Absent on the last page. */
        Link: string;
        /** @description Seconds to wait before the next attempt. */
        "Retry-After": number;
        /** @description `true` when this is the stored answer to an earlier request with the same key. */
        "Idempotency-Replayed": "true";
    };
    pathItems: never;
}
export type Error = components['schemas']['Error'];
export type ErrorCode = components['schemas']['ErrorCode'];
export type ExaminedGroup = components['schemas']['ExaminedGroup'];
export type Finding = components['schemas']['Finding'];
export type ProjectHome = components['schemas']['ProjectHome'];
export type ProjectMove = components['schemas']['ProjectMove'];
export type Server = components['schemas']['Server'];
export type PlacedProject = components['schemas']['PlacedProject'];
export type TakenProject = components['schemas']['TakenProject'];
export type MissingRef = components['schemas']['MissingRef'];
export type LostMerge = components['schemas']['LostMerge'];
export type FolderBytes = components['schemas']['FolderBytes'];
export type KeptRows = components['schemas']['KeptRows'];
export type ProjectBytes = components['schemas']['ProjectBytes'];
export type Member = components['schemas']['Member'];
export type Ok = components['schemas']['Ok'];
export type Account = components['schemas']['Account'];
export type User = components['schemas']['User'];
export type AuditEvent = components['schemas']['AuditEvent'];
export type DashboardSession = components['schemas']['DashboardSession'];
export type Invitation = components['schemas']['Invitation'];
export type ReceivedInvitation = components['schemas']['ReceivedInvitation'];
export type Notice = components['schemas']['Notice'];
export type ProjectToken = components['schemas']['ProjectToken'];
export type Token = components['schemas']['Token'];
export type MintedToken = components['schemas']['MintedToken'];
export type Project = components['schemas']['Project'];
export type ProjectSettings = components['schemas']['ProjectSettings'];
export type ProjectDeletion = components['schemas']['ProjectDeletion'];
export type ManifestIssue = components['schemas']['ManifestIssue'];
export type MergeEffects = components['schemas']['MergeEffects'];
export type EffectDetail = components['schemas']['EffectDetail'];
export type CommitEntry = components['schemas']['CommitEntry'];
export type DiffFile = components['schemas']['DiffFile'];
export type ChangeRequest = components['schemas']['ChangeRequest'];
export type Secret = components['schemas']['Secret'];
export type Prompt = components['schemas']['Prompt'];
export type Attachment = components['schemas']['Attachment'];
export type Session = components['schemas']['Session'];
export type TurnError = components['schemas']['TurnError'];
export type SessionRefresh = components['schemas']['SessionRefresh'];
export type StartPhase = components['schemas']['StartPhase'];
export type Message = components['schemas']['Message'];
export type MessagePart = components['schemas']['MessagePart'];
export type SessionEvent = components['schemas']['SessionEvent'];
export type Question = components['schemas']['Question'];
export type ModelUpstream = components['schemas']['ModelUpstream'];
export type ConfiguredModel = components['schemas']['ConfiguredModel'];
export type Usage = components['schemas']['Usage'];
export type UsageCap = components['schemas']['UsageCap'];
export type ProjectUsage = components['schemas']['ProjectUsage'];
export type Storage = components['schemas']['Storage'];
export type SessionChanges = components['schemas']['SessionChanges'];
export type UnfinishedWork = components['schemas']['UnfinishedWork'];
export type SavedWork = components['schemas']['SavedWork'];
export type SessionFiles = components['schemas']['SessionFiles'];
export type ChangeRequestDiff = components['schemas']['ChangeRequestDiff'];
export type HostPullRequest = components['schemas']['HostPullRequest'];
export type ReadingGuide = components['schemas']['ReadingGuide'];
export type ChangeRequestSummary = components['schemas']['ChangeRequestSummary'];
export type MergePreview = components['schemas']['MergePreview'];
export type ChangeRequestOrigins = components['schemas']['ChangeRequestOrigins'];
export type LineOrigin = components['schemas']['LineOrigin'];
export type OriginCall = components['schemas']['OriginCall'];
export type ChangeRequestChecks = components['schemas']['ChangeRequestChecks'];
export type Check = components['schemas']['Check'];
export type CheckLogLine = components['schemas']['CheckLogLine'];
export type Review = components['schemas']['Review'];
export type ReviewThread = components['schemas']['ReviewThread'];
export type ReviewReply = components['schemas']['ReviewReply'];
export type ReviewTextThread = components['schemas']['ReviewTextThread'];
export type AppliedSuggestions = components['schemas']['AppliedSuggestions'];
export type OpenWork = components['schemas']['OpenWork'];
export type InboxItem = components['schemas']['InboxItem'];
export type InboxCounts = components['schemas']['InboxCounts'];
export type InboxMark = components['schemas']['InboxMark'];
export type FoundChangeRequest = components['schemas']['FoundChangeRequest'];
export type FoundSession = components['schemas']['FoundSession'];
export type ReviewState = components['schemas']['ReviewState'];
export type ChangeRequestVersion = components['schemas']['ChangeRequestVersion'];
export type TriggerSlot = components['schemas']['TriggerSlot'];
export type Trigger = components['schemas']['Trigger'];
export type ProjectEvent = components['schemas']['ProjectEvent'];
export type ChangeRequestEventData = components['schemas']['ChangeRequestEventData'];
export type SessionEventData = components['schemas']['SessionEventData'];
export type TriggerEventData = components['schemas']['TriggerEventData'];
export type DeployEventData = components['schemas']['DeployEventData'];
export type CheckEventData = components['schemas']['CheckEventData'];
export type BranchEventData = components['schemas']['BranchEventData'];
export type StreamMark = components['schemas']['StreamMark'];
export type Channel = components['schemas']['Channel'];
export type ChannelThread = components['schemas']['ChannelThread'];
export type ChannelDelivery = components['schemas']['ChannelDelivery'];
export type ChannelLink = components['schemas']['ChannelLink'];
export type ChatSetup = components['schemas']['ChatSetup'];
export type WebhookDelivery = components['schemas']['WebhookDelivery'];
export type Webhook = components['schemas']['Webhook'];
export type App = components['schemas']['App'];
export type AppDeploy = components['schemas']['AppDeploy'];
export type AppLog = components['schemas']['AppLog'];
export type AppLogLine = components['schemas']['AppLogLine'];
export type HostWebhook = components['schemas']['HostWebhook'];
export type Connector = components['schemas']['Connector'];
export type ConnectorTool = components['schemas']['ConnectorTool'];
export type ConnectorApproval = components['schemas']['ConnectorApproval'];
export type ConnectorCall = components['schemas']['ConnectorCall'];
export type ReviewComment = components['schemas']['ReviewComment'];
export type DraftComment = components['schemas']['DraftComment'];
export type $defs = Record<string, never>;
export interface operations {
    examineServer: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description The name of the server that answers; null where one runs alone. */
                        server: string | null;
                        /** Format: date-time */
                        examined_at: string;
                        groups: components["schemas"]["ExaminedGroup"][];
                    };
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    getHealth: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        status: "ok";
                        version: string;
                    };
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    getReady: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        status: "ready";
                        version: string;
                        /** @description Set after a restore from a backup: the server answers reads only, and nothing acts, until `svc self-host resume`. */
                        held?: {
                            backup_id: string;
                            backup_created_at: string;
                            held_at: string;
                        } | null;
                        /** @description Whether sandboxes can start on this server, and if not, how to fix it. */
                        sandbox: {
                            driver: string;
                            ready: boolean;
                            problem: string | null;
                            install: string | null;
                            /** @description Resources that a sandbox on this machine can use without limit. */
                            missing_limits: ("memory" | "cpu" | "processes")[];
                        };
                        /**
                         * @description `scripted` is the demo model of `svc tour`.
                         * @enum {string}
                         */
                        model: "upstream" | "scripted" | "none";
                        /** @description Whether there is room for new work. Reading and merging need none. */
                        disk: {
                            ready: boolean;
                            problem: string | null;
                        };
                        /** @description Whether the database accepts changes. One that is read-only, as during a failover, answers reads. Servers of earlier versions do not send it. */
                        database?: {
                            ready: boolean;
                            problem: string | null;
                        };
                        /** @description What deploys apps and what runs connectors, as the operator configured it. */
                        providers: {
                            /** @enum {string} */
                            apps: "local" | "none";
                            /** @enum {string} */
                            connectors: "mcp" | "none";
                        };
                    };
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    cancelMove: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProjectHome"];
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    drainServer: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                serverName: components["parameters"]["serverName"];
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /** @default false */
                    off?: boolean;
                };
            };
        };
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        name: string;
                        draining: boolean;
                    };
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    getProjectHome: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProjectHome"];
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    moveProject: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    server: string;
                    /** @default false */
                    force?: boolean;
                };
            };
        };
        responses: {
            /** @description Success */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProjectHome"];
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    listServers: {
        parameters: {
            query?: {
                /** @description The most entries of one page. Without it, the list is whole. */
                limit?: number;
                /** @description The cursor in the `Link` header of the page before. */
                cursor?: string;
                /** @example projects */
                include?: "projects";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        servers: components["schemas"]["Server"][];
                        projects?: components["schemas"]["PlacedProject"][];
                    };
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    listUncopiedProjects: {
        parameters: {
            query?: {
                /** @description The most entries of one page. Without it, the list is whole. */
                limit?: number;
                /** @description The cursor in the `Link` header of the page before. */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /**
                         * @description `SVC_REPLICA` of the server that answers.
                         * @enum {string}
                         */
                        mode: "sync" | "async" | "none";
                        count: number;
                        projects: {
                            /** Format: uuid */
                            project_id: string;
                            slug: string;
                            home: string | null;
                            /** @description The server with an earlier copy. */
                            replica: string | null;
                            /** @description Acknowledged changes that the copy lacks. Null: there is no current copy. */
                            behind: number | null;
                            /** @description The project is new, or has moved within the last 30 minutes, and its home and another server run and no attempt has failed: the home makes its copy at this moment. */
                            being_made: boolean;
                            /** @description The copy is current and its server runs, but the last change could not be written there, so changes are refused. */
                            changes_refused: boolean;
                            /** @description Why its home failed to make or update the copy the last time. */
                            error: string | null;
                        }[];
                    };
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    takeOverServer: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                serverName: components["parameters"]["serverName"];
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /**
                     * @description Also take projects whose copy lacks acknowledged changes.
                     * @default false
                     */
                    accept_loss?: boolean;
                    /**
                     * Format: uuid
                     * @description Continue behind this project, the last one of the reply before.
                     */
                    after?: string;
                };
            };
        };
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        server: string;
                        projects: components["schemas"]["TakenProject"][];
                        /** @description Projects that this request did not get to. */
                        remaining: number;
                    };
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    getStorage: {
        parameters: {
            query?: {
                projects?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description The server that answers, whose disk it is; null where a server runs alone. */
                        server: string | null;
                        disk: {
                            total_bytes: number;
                            free_bytes: number;
                            /** @description With less free space, the server takes no new work. */
                            min_free_bytes: number;
                        };
                        database_bytes: number;
                        /** @description What else uses the disk of the data, largest first: without repositories and rows of the database. */
                        folders: components["schemas"]["FolderBytes"][];
                        kept: components["schemas"]["KeptRows"][];
                        /** @description Largest first. */
                        projects: components["schemas"]["ProjectBytes"][];
                    };
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    listMembers: {
        parameters: {
            query?: {
                /** @description The most entries of one page. */
                limit?: number;
                /** @description The cursor in the `Link` header of the page before. */
                cursor?: string;
            };
            header?: never;
            path: {
                /** @description The id of the account. */
                accountId: components["parameters"]["accountId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Member"][];
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    addMember: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the account. */
                accountId: components["parameters"]["accountId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "email": "ada@example.com",
                 *       "role": "member"
                 *     }
                 */
                "application/json": {
                    /** Format: email */
                    email: string;
                    name?: string;
                    /**
                     * @default member
                     * @enum {string}
                     */
                    role?: "owner" | "admin" | "member" | "viewer";
                };
            };
        };
        responses: {
            /** @description Success */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description The member they become by accepting. Until then `user_id` is the id of the invitation. */
                        member: components["schemas"]["Member"];
                        /** Format: uuid */
                        invitation_id: string;
                        /** @description The link to hand over: the service sends no email. Null with an API token. */
                        sign_in: {
                            url: string;
                            /** Format: date-time */
                            expires_at: string;
                        } | null;
                    };
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    removeMember: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the account. */
                accountId: components["parameters"]["accountId"];
                /** @description The user id of the member, or the id of a pending invitation. */
                userId: components["parameters"]["userId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Ok"];
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    changeRole: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the account. */
                accountId: components["parameters"]["accountId"];
                /** @description The user id of the member, or the id of a pending invitation. */
                userId: components["parameters"]["userId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "role": "viewer"
                 *     }
                 */
                "application/json": {
                    /** @enum {string} */
                    role: "owner" | "admin" | "member" | "viewer";
                };
            };
        };
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Member"];
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    confirmSignIn: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "password": "correct horse battery staple"
                 *     }
                 */
                "application/json": {
                    password: string;
                };
            };
        };
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Ok"];
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    listAccounts: {
        parameters: {
            query?: {
                /** @description The most entries of one page. Without it, the list is whole. */
                limit?: number;
                /** @description The cursor in the `Link` header of the page before. */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        accounts: components["schemas"]["Account"][];
                    };
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    createAccount: {
        parameters: {
            query?: never;
            header?: {
                /** @description A key of your choice for this one request. Sent again with the same body, the request gets the first answer; with another body, `idempotency_mismatch`. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "name": "Platform team",
                 *       "plan": "team"
                 *     }
                 */
                "application/json": {
                    name: string;
                    /**
                     * @default selfhost
                     * @enum {string}
                     */
                    plan?: "free" | "pro" | "team" | "selfhost";
                };
            };
        };
        responses: {
            /** @description Success */
            201: {
                headers: {
                    "Idempotency-Replayed": components["headers"]["Idempotency-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Account"];
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    createOwnerLink: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        url: string;
                        /** Format: date-time */
                        expires_at: string;
                    };
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    endDashboardSession: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                dashboardSessionId: components["parameters"]["dashboardSessionId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Ok"];
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    getMe: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** Format: uuid */
                        user_id: string;
                        email: string | null;
                        user: components["schemas"]["User"];
                        /** @description The account the user joined first. */
                        account: components["schemas"]["Account"];
                        accounts: components["schemas"]["Account"][];
                        /** @description Set while the server is held after a restore from this backup: it answers reads only. */
                        held?: {
                            /** Format: date-time */
                            backup_created_at: string;
                        };
                    };
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    getPassword: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        email: string | null;
                        is_set: boolean;
                    };
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    setPassword: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "email": "grace@example.com",
                 *       "password": "correct horse battery staple"
                 *     }
                 */
                "application/json": {
                    email: string;
                    password: string;
                    current_password?: string;
                };
            };
        };
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Ok"];
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    listAudit: {
        parameters: {
            query?: {
                /**
                 * @description The most entries of one page.
                 * @example 50
                 */
                limit?: number;
                /** @description The cursor in the `Link` header of the page before. */
                cursor?: string;
                /** @description The id of the project, or its slug in the account. */
                project_id?: string;
                /**
                 * @description An action, or the noun of several: `change_request`.
                 * @example change_request
                 */
                action?: string;
                actor_user_id?: string;
            };
            header?: never;
            path: {
                /** @description The id of the account. */
                accountId: components["parameters"]["accountId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AuditEvent"][];
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    listDashboardSessions: {
        parameters: {
            query?: {
                /** @description The most entries of one page. Without it, the list is whole. */
                limit?: number;
                /** @description The cursor in the `Link` header of the page before. */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DashboardSession"][];
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    getSignInMethods: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        password: true;
                        oidc: string | null;
                    };
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    signInWithOwnerLink: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    code: string;
                };
            };
        };
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Ok"];
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    signInWithPassword: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "email": "grace@example.com",
                 *       "password": "correct horse battery staple"
                 *     }
                 */
                "application/json": {
                    email: string;
                    password: string;
                };
            };
        };
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Ok"];
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    signOut: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Ok"];
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    updateAccount: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the account. */
                accountId: components["parameters"]["accountId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "name": "Platform"
                 *     }
                 */
                "application/json": {
                    name?: string;
                    /** @enum {string} */
                    plan?: "free" | "pro" | "team" | "selfhost";
                };
            };
        };
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Account"];
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    acceptInvitation: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    code: string;
                } | {
                    /** Format: uuid */
                    invitation_id: string;
                };
            };
        };
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** Format: uuid */
                        account_id: string;
                        /** @enum {string} */
                        role: "owner" | "admin" | "member" | "viewer";
                    };
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    linkInvitation: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the account. */
                accountId: components["parameters"]["accountId"];
                invitationId: components["parameters"]["invitationId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        url: string;
                        /** Format: date-time */
                        expires_at: string;
                    };
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    listInvitations: {
        parameters: {
            query?: {
                /** @description The most entries of one page. */
                limit?: number;
                /** @description The cursor in the `Link` header of the page before. */
                cursor?: string;
            };
            header?: never;
            path: {
                /** @description The id of the account. */
                accountId: components["parameters"]["accountId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        invitations: components["schemas"]["Invitation"][];
                    };
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    listReceivedInvitations: {
        parameters: {
            query?: {
                /** @description The most entries of one page. */
                limit?: number;
                /** @description The cursor in the `Link` header of the page before. */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        invitations: components["schemas"]["ReceivedInvitation"][];
                    };
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    readInvitation: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    code: string;
                };
            };
        };
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReceivedInvitation"];
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    revokeInvitation: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the account. */
                accountId: components["parameters"]["accountId"];
                invitationId: components["parameters"]["invitationId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Ok"];
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    dismissNotices: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "up_to": 12
                 *     }
                 */
                "application/json": {
                    up_to: number;
                };
            };
        };
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Ok"];
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    listNotices: {
        parameters: {
            query?: {
                /** @description The most entries of one page. Without it, the list is whole. */
                limit?: number;
                /** @description The cursor in the `Link` header of the page before. */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        notices: components["schemas"]["Notice"][];
                    };
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    approveCliLogin: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "challenge": "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
                 *       "name": "laptop"
                 *     }
                 */
                "application/json": {
                    challenge: string;
                    name: string;
                };
            };
        };
        responses: {
            /** @description Success */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        code: string;
                        /** Format: date-time */
                        expires_at: string;
                    };
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    listProjectTokens: {
        parameters: {
            query?: {
                /** @description The most entries of one page. */
                limit?: number;
                /** @description The cursor in the `Link` header of the page before. */
                cursor?: string;
            };
            header?: never;
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProjectToken"][];
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    mintProjectToken: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "name": "ci"
                 *     }
                 */
                "application/json": {
                    name?: string;
                    expires_at?: string | null;
                };
            };
        };
        responses: {
            /** @description Success */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MintedToken"];
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    listUserTokens: {
        parameters: {
            query?: {
                /** @description The most entries of one page. */
                limit?: number;
                /** @description The cursor in the `Link` header of the page before. */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Token"][];
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    mintUserToken: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "name": "ci",
                 *       "expires_at": "2099-12-31T00:00:00Z"
                 *     }
                 */
                "application/json": {
                    name: string;
                    expires_at?: string | null;
                };
            };
        };
        responses: {
            /** @description Success */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MintedToken"];
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    redeemCliLogin: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    code: string;
                    verifier: string;
                };
            };
        };
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MintedToken"];
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    revokeProjectToken: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
                tokenId: components["parameters"]["tokenId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Ok"];
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    revokeUserToken: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                tokenId: components["parameters"]["tokenId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Ok"];
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    whoAmI: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {string} */
                        kind: "user" | "project";
                        /** @description Null for a request with the dashboard's cookie. */
                        token_id: string | null;
                        user: components["schemas"]["User"];
                        account: {
                            /** Format: uuid */
                            account_id: string;
                            name: string;
                        };
                        project_id: string | null;
                        session_id: string | null;
                        expires_at: string | null;
                    };
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    listProjects: {
        parameters: {
            query?: {
                /** @description The most entries of one page. */
                limit?: number;
                /** @description The cursor in the `Link` header of the page before. */
                cursor?: string;
                account_id?: string;
                /** @description `true` lists the deleted projects that the caller can restore, the last deleted first. */
                deleted?: "true" | "false";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Project"][];
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    createProject: {
        parameters: {
            query?: never;
            header?: {
                /** @description A key of your choice for this one request. Sent again with the same body, the request gets the first answer; with another body, `idempotency_mismatch`. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "name": "Website"
                 *     }
                 */
                "application/json": {
                    repo_url?: string;
                    name?: string;
                    /**
                     * Format: uuid
                     * @description The default is the oldest account in which the caller may write.
                     */
                    account_id?: string;
                    default_branch?: string;
                    /** @description The password of the git host's credential, or a private key for ssh. */
                    git_token?: string;
                    git_username?: string;
                    /**
                     * @description `generate`: the server creates an ssh key for this project and returns the public key.
                     * @constant
                     */
                    git_ssh_key?: "generate";
                };
            };
        };
        responses: {
            /** @description Success */
            201: {
                headers: {
                    "Idempotency-Replayed": components["headers"]["Idempotency-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Project"];
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    getProject: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Project"];
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    deleteProject: {
        parameters: {
            query?: {
                /** @description `true` deletes the project permanently. The path then needs the id of a project that is already deleted. */
                purge?: "true" | "false";
            };
            header?: never;
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        purge_at: string | null;
                    };
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    updateProject: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "name": "Web shop",
                 *       "settings": {
                 *         "agent_merge": "deny",
                 *         "session_depth_max": 2
                 *       }
                 *     }
                 */
                "application/json": {
                    name?: string;
                    default_branch?: string;
                    git_token?: string;
                    git_username?: string;
                    /**
                     * @description `generate`: the server creates a new ssh key that replaces the current one.
                     * @constant
                     */
                    git_ssh_key?: "generate";
                    settings?: {
                        /** @enum {string} */
                        agent_merge?: "deny" | "allow";
                        /** @enum {string} */
                        manifest_gate?: "off" | "on";
                        /** @enum {string} */
                        git_host?: "auto" | "plain" | "github";
                        git_api_url?: string | null;
                        model_tokens_per_session?: number | null;
                        model_tokens_per_month?: number | null;
                        session_depth_max?: number;
                        session_descendants_max?: number;
                        session_starts_per_hour_max?: number;
                        webhook_sessions_max?: number;
                        webhook_fires_per_hour_max?: number;
                        quota_repository_bytes?: number | null;
                        quota_push_bytes?: number | null;
                        quota_unfinished_work_bytes?: number | null;
                        quota_transcript_bytes?: number | null;
                        quota_check_log_bytes?: number | null;
                        quota_app_archive_bytes?: number | null;
                        quota_sessions_bytes?: number | null;
                    };
                };
            };
        };
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Project"];
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    getCloneCredential: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        repo_url: string;
                        auth: {
                            /** @constant */
                            type: "basic";
                            /** @constant */
                            username: "x-access-token";
                            token: string;
                        };
                        /** Format: date-time */
                        expires_at: string;
                    };
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    getProjectDeletion: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProjectDeletion"];
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    restoreProject: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Project"];
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    validateManifest: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "raw": "svc_version = 1\n"
                 *     }
                 */
                "application/json": {
                    raw: string;
                };
            };
        };
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        valid: boolean;
                        issues: components["schemas"]["ManifestIssue"][];
                    };
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    blameFile: {
        parameters: {
            query: {
                /** @example main */
                ref?: string;
                /** @example README.md */
                path: string;
            };
            header?: never;
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        ref: string;
                        sha: string;
                        path: string;
                        ranges: {
                            /** @description The first line, counted from 1. */
                            start: number;
                            /** @description The last line. */
                            end: number;
                            sha: string;
                            /** @description The name of the file in that commit. */
                            path: string;
                        }[];
                        /** @description The commits of the ranges, each once. */
                        commits: {
                            sha: string;
                            author_name: string;
                            author_email: string;
                            /** Format: date-time */
                            authored_at: string;
                            subject: string;
                        }[];
                    };
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    compareRefs: {
        parameters: {
            query: {
                /** @example main */
                base?: string;
                /** @example fix-build */
                head: string;
                include?: "patch";
            };
            header?: never;
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        base_sha: string;
                        head_sha: string;
                        merge_base: string | null;
                        is_up_to_date: boolean;
                        can_merge: boolean;
                        can_fast_forward: boolean;
                        conflicts: string[];
                        /** @description Only with `include=effects`: what merging does beyond code. */
                        effects?: components["schemas"]["MergeEffects"];
                        base_ref: string;
                        head_ref: string;
                        ahead: number;
                        behind: number;
                        /** @description The newest commits of the head that the base lacks; at most 250. */
                        commits: components["schemas"]["CommitEntry"][];
                        files: components["schemas"]["DiffFile"][];
                        files_changed: number;
                        additions: number;
                        deletions: number;
                        truncated: boolean;
                        /** @description With `include=patch`. `truncated` is true when it is not whole. */
                        patch?: string;
                    };
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    createFirstCommit: {
        parameters: {
            query?: never;
            header?: {
                /** @description A key of your choice for this one request. Sent again with the same body, the request gets the first answer; with another body, `idempotency_mismatch`. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "files": [
                 *         {
                 *           "path": "README.md",
                 *           "content": "# Website\n"
                 *         }
                 *       ],
                 *       "message": "Begin"
                 *     }
                 */
                "application/json": {
                    /** @description A `README.md` with the name of the project unless given. */
                    files?: {
                        path: string;
                        content: string;
                    }[];
                    /** @description `First commit` unless given. */
                    message?: string;
                };
            };
        };
        responses: {
            /** @description Success */
            201: {
                headers: {
                    "Idempotency-Replayed": components["headers"]["Idempotency-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        branch: string;
                        sha: string;
                    };
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    getFile: {
        parameters: {
            query: {
                /** @example main */
                ref?: string;
                /** @example README.md */
                path: string;
            };
            header?: never;
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        ref: string;
                        sha: string;
                        path: string;
                        /** @enum {string} */
                        type: "file" | "executable" | "symlink";
                        blob_sha: string;
                        size: number;
                        binary: boolean;
                        /**
                         * @description `base64` for content that is not UTF-8.
                         * @enum {string}
                         */
                        encoding: "utf-8" | "base64";
                        content: string;
                        /** @description Whether `content` is only the first MiB. The raw bytes are always complete. */
                        truncated: boolean;
                    };
                    "application/octet-stream": string;
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    proposeFile: {
        parameters: {
            query?: never;
            header?: {
                /** @description A key of your choice for this one request. Sent again with the same body, the request gets the first answer; with another body, `idempotency_mismatch`. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "path": "README.md",
                 *       "blob_sha": "ce013625030ba8dba906f756967f9e9ca394464a",
                 *       "content": "Hello, world\n"
                 *     }
                 */
                "application/json": {
                    /** @description A branch; the default branch unless given. */
                    ref?: string;
                    path: string;
                    /** @description The `blob_sha` of the file that was edited. */
                    blob_sha: string;
                    content: string;
                    /** @description `Edit <path>` unless given. */
                    title?: string;
                    /** @default  */
                    description?: string;
                };
            };
        };
        responses: {
            /** @description Success */
            201: {
                headers: {
                    "Idempotency-Replayed": components["headers"]["Idempotency-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChangeRequest"];
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    listBranches: {
        parameters: {
            query?: {
                /** @description The most entries of one page. */
                limit?: number;
                /** @description The cursor in the `Link` header of the page before. */
                cursor?: string;
            };
            header?: never;
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        branches: {
                            name: string;
                            sha: string;
                            is_default: boolean;
                        }[];
                    };
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    listCommits: {
        parameters: {
            query?: {
                /** @description The most entries of one page. */
                limit?: number;
                /** @description The cursor in the `Link` header of the page before. */
                cursor?: string;
                /** @example main */
                ref?: string;
                /** @example README.md */
                path?: string;
            };
            header?: never;
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        ref: string;
                        sha: string;
                        commits: components["schemas"]["CommitEntry"][];
                    };
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    listPaths: {
        parameters: {
            query?: {
                /** @description The most entries of one page. Without it, the list is whole. */
                limit?: number;
                /** @description The cursor in the `Link` header of the page before. */
                cursor?: string;
                /** @example main */
                ref?: string;
                /** @description Words of the path. */
                search?: string;
            };
            header?: never;
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        ref: string;
                        sha: string;
                        files: {
                            path: string;
                        }[];
                        truncated: boolean;
                    };
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    listTree: {
        parameters: {
            query?: {
                /** @description The most entries of one page. Without it, the list is whole. */
                limit?: number;
                /** @description The cursor in the `Link` header of the page before. */
                cursor?: string;
                /** @example main */
                ref?: string;
                /** @example src */
                path?: string;
            };
            header?: never;
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        ref: string;
                        sha: string;
                        path: string;
                        entries: {
                            name: string;
                            path: string;
                            /** @enum {string} */
                            type: "file" | "executable" | "directory" | "symlink" | "submodule";
                            sha: string;
                            size: number | null;
                        }[];
                        truncated: boolean;
                    };
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    searchFiles: {
        parameters: {
            query: {
                /** @example main */
                ref?: string;
                /** @example greet */
                text: string;
            };
            header?: never;
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        ref: string;
                        sha: string;
                        matches: {
                            path: string;
                            line: number;
                            /** @description The line. Of a long line, the part around the match. */
                            text: string;
                        }[];
                        truncated: boolean;
                    };
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    deleteSecret: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
                name: components["parameters"]["name"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Ok"];
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    listSecrets: {
        parameters: {
            query?: {
                /** @description The most entries of one page. Without it, the list is whole. */
                limit?: number;
                /** @description The cursor in the `Link` header of the page before. */
                cursor?: string;
            };
            header?: never;
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["Secret"][];
                        required: string[];
                        optional: string[];
                        needed: {
                            name: string;
                            needed_by: {
                                /** @enum {string} */
                                kind: "env" | "trigger" | "app" | "connector";
                                slug: string | null;
                            }[];
                        }[];
                        missing: string[];
                        revision: string;
                    };
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    setSecret: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "name": "API_KEY",
                 *       "value": "a value that only sandboxes see"
                 *     }
                 */
                "application/json": {
                    name: string;
                    value: string;
                };
            };
        };
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Secret"];
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    abortSession: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
                /** @description The id of the session. */
                sessionId: components["parameters"]["sessionId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Ok"];
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    cancelPrompt: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
                /** @description The id of the session. */
                sessionId: components["parameters"]["sessionId"];
                promptId: components["parameters"]["promptId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Prompt"];
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    listSessions: {
        parameters: {
            query?: {
                /** @description The most entries of one page. */
                limit?: number;
                /** @description The cursor in the `Link` header of the page before. */
                cursor?: string;
                /** @example running */
                status?: "queued" | "branching" | "provisioning" | "running" | "stopped" | "failed" | "completed" | "all";
                /** @example activity */
                include?: "activity";
            };
            header?: never;
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Session"][];
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    createSession: {
        parameters: {
            query?: never;
            header?: {
                /** @description A key of your choice for this one request. Sent again with the same body, the request gets the first answer; with another body, `idempotency_mismatch`. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "name": "Fix the build",
                 *       "base_ref": "main",
                 *       "initial_prompt": "Fix the failing test.",
                 *       "metadata": {
                 *         "ticket": "WEB-12"
                 *       }
                 *     }
                 */
                "application/json": {
                    /**
                     * Format: uuid
                     * @description The id the session gets, a new random UUID. Sent again by the same caller, it is the same session.
                     */
                    session_id?: string;
                    /** @description The branch named session_id already exists, and the session works on it as it is. */
                    branch_already_created?: boolean;
                    name?: string;
                    agent_name?: string;
                    base_ref?: string;
                    /** @description Where to continue from. The agent and the model are that session's unless they are given, and so is the base. */
                    from?: {
                        /**
                         * Format: uuid
                         * @description A session of the same project. It stays as it is.
                         */
                        session_id: string;
                        /** @description A message of the turn to continue after. Without it, the session as it is now. */
                        message_id?: string;
                    };
                    initial_prompt?: string;
                    attachments?: {
                        /** @description The server keeps what follows the last slash, without control characters. */
                        name: string;
                        content_base64: string;
                    }[];
                    model?: string;
                    metadata?: {
                        [key: string]: unknown;
                    };
                };
            };
        };
        responses: {
            /** @description Success */
            201: {
                headers: {
                    "Idempotency-Replayed": components["headers"]["Idempotency-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Session"];
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    getSession: {
        parameters: {
            query?: {
                include?: "activity";
            };
            header?: never;
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
                /** @description The id of the session. */
                sessionId: components["parameters"]["sessionId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Session"];
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    deleteSession: {
        parameters: {
            query?: {
                /** @description `true` ends the sandbox also when its newest work cannot be saved, and loses that work. Older servers always do. */
                discard?: "true" | "false";
            };
            header?: never;
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
                /** @description The id of the session. */
                sessionId: components["parameters"]["sessionId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Ok"];
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    updateSession: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
                /** @description The id of the session. */
                sessionId: components["parameters"]["sessionId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "name": "Fix the build on Linux",
                 *       "metadata": {
                 *         "ticket": "WEB-12"
                 *       }
                 *     }
                 */
                "application/json": {
                    name?: string;
                    metadata?: {
                        [key: string]: unknown;
                    };
                };
            };
        };
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Session"];
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    getAttachment: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
                /** @description The id of the session. */
                sessionId: components["parameters"]["sessionId"];
                attachmentId: components["parameters"]["attachmentId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/octet-stream": string;
                    "image/png": string;
                    "image/jpeg": string;
                    "image/gif": string;
                    "image/webp": string;
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    getTimeline: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
                /** @description The id of the session. */
                sessionId: components["parameters"]["sessionId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        phases: components["schemas"]["StartPhase"][];
                    };
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    getTranscript: {
        parameters: {
            query?: {
                /** @example 50 */
                limit?: number;
                cursor?: string;
                /** @description Which end of the conversation `limit` keeps. `start` has no next page. */
                from?: "start" | "end";
            };
            header?: never;
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
                /** @description The id of the session. */
                sessionId: components["parameters"]["sessionId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        messages: components["schemas"]["Message"][];
                    };
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    listPrompts: {
        parameters: {
            query?: {
                /** @description The most entries of one page. */
                limit?: number;
                /** @description The cursor in the `Link` header of the page before. */
                cursor?: string;
                /** @example accepted */
                status?: "accepted" | "delivered" | "failed" | "cancelled" | "all";
            };
            header?: never;
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
                /** @description The id of the session. */
                sessionId: components["parameters"]["sessionId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        prompts: components["schemas"]["Prompt"][];
                    };
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    promptSession: {
        parameters: {
            query?: never;
            header?: {
                /** @description A key of your choice for this one request. Sent again with the same body, the request gets the first answer; with another body, `idempotency_mismatch`. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
                /** @description The id of the session. */
                sessionId: components["parameters"]["sessionId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "text": "Run the tests again.",
                 *       "attachments": [
                 *         {
                 *           "name": "log.txt",
                 *           "content_base64": "b29wcwo="
                 *         }
                 *       ]
                 *     }
                 */
                "application/json": {
                    text: string;
                    attachments?: {
                        /** @description The server keeps what follows the last slash, without control characters. */
                        name: string;
                        content_base64: string;
                    }[];
                    /** @description The agent from this prompt on. Without it, the session keeps its agent. */
                    agent?: string;
                    /** @description The model from this prompt on; null is the default one. Without it, the session keeps its model. */
                    model?: string | null;
                };
            };
        };
        responses: {
            /** @description Success */
            202: {
                headers: {
                    "Idempotency-Replayed": components["headers"]["Idempotency-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** Format: uuid */
                        prompt_id: string;
                        /** @enum {string} */
                        status: "accepted" | "delivered" | "failed";
                        /** @description Only when the prompt was refused at once. */
                        error?: {
                            code: string;
                            message: string;
                        };
                    };
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    refreshSession: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
                /** @description The id of the session. */
                sessionId: components["parameters"]["sessionId"];
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": Record<string, never>;
            };
        };
        responses: {
            /** @description Success */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Session"];
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    restartSession: {
        parameters: {
            query?: {
                /** @description `true` ends the sandbox also when its newest work cannot be saved, and loses that work. Older servers always do. */
                discard?: "true" | "false";
            };
            header?: never;
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
                /** @description The id of the session. */
                sessionId: components["parameters"]["sessionId"];
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "agent": null
                 *     }
                 */
                "application/json": {
                    agent?: string | null;
                };
            };
        };
        responses: {
            /** @description Success */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Session"];
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    stopSession: {
        parameters: {
            query?: {
                /** @description `true` ends the sandbox also when its newest work cannot be saved, and loses that work. Older servers always do. */
                discard?: "true" | "false";
            };
            header?: never;
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
                /** @description The id of the session. */
                sessionId: components["parameters"]["sessionId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Session"];
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    streamSessionEvents: {
        parameters: {
            query?: {
                messages?: number;
            };
            header?: never;
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
                /** @description The id of the session. */
                sessionId: components["parameters"]["sessionId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": {
                        event: string;
                        id?: string;
                        data: string;
                    };
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    getModelUpstream: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ModelUpstream"];
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    setModelUpstream: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    url: string;
                    /**
                     * @default openai
                     * @enum {string}
                     */
                    shape?: "openai" | "anthropic";
                    /** @description Without this field the saved key is kept if the URL stays the same; null removes it. */
                    key?: string | null;
                    /** @description The first one is the default. */
                    models: string[];
                };
            };
        };
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ModelUpstream"];
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    clearModelUpstream: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Ok"];
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    listModels: {
        parameters: {
            query?: {
                /** @description The most entries of one page. Without it, the list is whole. */
                limit?: number;
                /** @description The cursor in the `Link` header of the page before. */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        models: components["schemas"]["ConfiguredModel"][];
                    };
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    answerQuestion: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
                /** @description The id of the session. */
                sessionId: components["parameters"]["sessionId"];
                questionId: components["parameters"]["questionId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "answer": "once"
                 *     }
                 */
                "application/json": {
                    answer: string;
                };
            };
        };
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Question"];
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    listQuestions: {
        parameters: {
            query?: {
                /** @description The most entries of one page. */
                limit?: number;
                /** @description The cursor in the `Link` header of the page before. */
                cursor?: string;
                /** @example open */
                status?: "open" | "answered" | "expired" | "all";
            };
            header?: never;
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
                /** @description The id of the session. */
                sessionId: components["parameters"]["sessionId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        questions: components["schemas"]["Question"][];
                    };
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    accountUsage: {
        parameters: {
            query?: {
                /** @example 7 */
                days?: number;
            };
            header?: never;
            path: {
                /** @description The id of the account. */
                accountId: components["parameters"]["accountId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Usage"];
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    capAccountUsage: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the account. */
                accountId: components["parameters"]["accountId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "model_tokens_per_month": 50000000
                 *     }
                 */
                "application/json": {
                    model_tokens_per_month: number | null;
                };
            };
        };
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        model_tokens_per_month: number | null;
                    };
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    projectUsage: {
        parameters: {
            query?: {
                days?: number;
            };
            header?: never;
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProjectUsage"];
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    sessionUsage: {
        parameters: {
            query?: {
                days?: number;
            };
            header?: never;
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
                /** @description The id of the session. */
                sessionId: components["parameters"]["sessionId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Usage"];
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    bundleUnfinishedWork: {
        parameters: {
            query?: {
                /** @description Commit ids, separated by commas. */
                have?: string;
                generation?: number;
            };
            header?: never;
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
                /** @description The id of the session. */
                sessionId: components["parameters"]["sessionId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/x-git-bundle": string;
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    getSessionChanges: {
        parameters: {
            query?: {
                /** @example patch */
                include?: "patch";
            };
            header?: never;
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
                /** @description The id of the session. */
                sessionId: components["parameters"]["sessionId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionChanges"];
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    getUnfinishedWork: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
                /** @description The id of the session. */
                sessionId: components["parameters"]["sessionId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UnfinishedWork"];
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    saveUnfinishedWork: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
                /** @description The id of the session. */
                sessionId: components["parameters"]["sessionId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UnfinishedWork"];
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    listUnfinishedWork: {
        parameters: {
            query?: {
                /** @description The most entries of one page. Without it, the list is whole. */
                limit?: number;
                /** @description The cursor in the `Link` header of the page before. */
                cursor?: string;
            };
            header?: never;
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** Format: uuid */
                        session_id: string;
                        /** Format: date-time */
                        saved_at: string;
                        files: number;
                        unpushed_commits: number;
                    }[];
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    recoverUnfinishedWork: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
                /** @description The id of the session. */
                sessionId: components["parameters"]["sessionId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        files: number;
                    };
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    settleUnfinishedWork: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
                /** @description The id of the session. */
                sessionId: components["parameters"]["sessionId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "commit": "9fceb02d0ae598e95dc970b74767f19372d61af8"
                 *     }
                 */
                "application/json": {
                    commit: string;
                };
            };
        };
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Ok"];
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    getSessionFiles: {
        parameters: {
            query?: {
                /** @example README.md */
                path?: string;
            };
            header?: never;
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
                /** @description The id of the session. */
                sessionId: components["parameters"]["sessionId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionFiles"];
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    getPreview: {
        parameters: {
            query?: {
                /** @example 3000 */
                port?: number;
            };
            header?: never;
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
                /** @description The id of the session. */
                sessionId: components["parameters"]["sessionId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        url: string;
                    };
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    listPorts: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
                /** @description The id of the session. */
                sessionId: components["parameters"]["sessionId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Empty without a running sandbox. Null when the sandbox does not say. */
                        ports: {
                            port: number;
                        }[] | null;
                        /** @description Whether the dashboard can show a preview in a frame: over https, or in a browser on the machine of the server, at a URL without an IPv6 address. */
                        can_frame: boolean;
                    };
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    closeChangeRequest: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
                /** @description The id of the change request. */
                crId: components["parameters"]["crId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChangeRequest"];
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    diffChangeRequest: {
        parameters: {
            query?: {
                renames?: "0" | "1";
                /**
                 * @description `1` ignores lines that differ in whitespace alone, as `git diff -w` does.
                 * @example 1
                 */
                ignore_whitespace?: "0" | "1";
                /** @description Only the changes since this commit, which is or was a head of the branch. */
                since?: string;
                /** @description The changes up to this commit, which is or was a head of the branch. */
                to?: string;
            };
            header?: never;
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
                /** @description The id of the change request. */
                crId: components["parameters"]["crId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChangeRequestDiff"];
                    "application/x-ndjson": string;
                    "text/x-diff": string;
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    getChangeRequest: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
                /** @description The id of the change request. */
                crId: components["parameters"]["crId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        change_request: components["schemas"]["ChangeRequest"];
                    };
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    editChangeRequest: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
                /** @description The id of the change request. */
                crId: components["parameters"]["crId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "title": "Fix the build on Linux",
                 *       "metadata": {
                 *         "draft": false
                 *       }
                 *     }
                 */
                "application/json": {
                    title?: string;
                    description?: string;
                    metadata?: {
                        [key: string]: unknown;
                    };
                };
            };
        };
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChangeRequest"];
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    getPullRequest: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
                /** @description The id of the change request. */
                crId: components["parameters"]["crId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["HostPullRequest"];
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    openPullRequest: {
        parameters: {
            query?: never;
            header?: {
                /** @description A key of your choice for this one request. Sent again with the same body, the request gets the first answer; with another body, `idempotency_mismatch`. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
                /** @description The id of the change request. */
                crId: components["parameters"]["crId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    "Idempotency-Replayed": components["headers"]["Idempotency-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["HostPullRequest"];
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    getReadingGuide: {
        parameters: {
            query?: {
                /** @example 1 */
                renames?: "0" | "1";
                /** @description `1` ignores lines that differ in whitespace alone, as `git diff -w` does. */
                ignore_whitespace?: "0" | "1";
                /** @description Only the changes since this commit, which is or was a head of the branch. */
                since?: string;
                /** @description The changes up to this commit, which is or was a head of the branch. */
                to?: string;
            };
            header?: never;
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
                /** @description The id of the change request. */
                crId: components["parameters"]["crId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReadingGuide"];
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    listChangeRequests: {
        parameters: {
            query?: {
                /** @description The most entries of one page. */
                limit?: number;
                /** @description The cursor in the `Link` header of the page before. */
                cursor?: string;
                /** @description `updated`: the last changed first. `ready`: those that can land first, then what is still checking. */
                sort?: "newest" | "updated" | "ready";
                include?: "summary";
                /** @example open */
                status?: "open" | "merged" | "closed" | "all";
                number?: number;
                /** @description Only change requests of this head branch. */
                head_ref?: string;
                /**
                 * @description Only change requests into this base branch.
                 * @example main
                 */
                base_ref?: string;
                /** @description Only change requests that this user opened, directly or through an agent. */
                created_by?: string;
                /** @description Only change requests with this text in the title, a branch name or the name of its session, or with this number. Case does not matter. */
                search?: string;
            };
            header?: never;
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        change_requests: components["schemas"]["ChangeRequest"][];
                        /** @description By `cr_id`. Only with `include=summary`. */
                        summaries?: {
                            [key: string]: components["schemas"]["ChangeRequestSummary"];
                        };
                    };
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    openChangeRequest: {
        parameters: {
            query?: never;
            header?: {
                /** @description A key of your choice for this one request. Sent again with the same body, the request gets the first answer; with another body, `idempotency_mismatch`. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "title": "Fix the build",
                 *       "description": "The test used a fixed port.",
                 *       "head_ref": "fix-build"
                 *     }
                 */
                "application/json": {
                    title: string;
                    /** @default  */
                    description?: string;
                    head_ref: string;
                    base_ref?: string;
                    session_id?: string | null;
                    metadata?: {
                        [key: string]: unknown;
                    };
                };
            };
        };
        responses: {
            /** @description Success */
            201: {
                headers: {
                    "Idempotency-Replayed": components["headers"]["Idempotency-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChangeRequest"];
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    mergeChangeRequest: {
        parameters: {
            query?: never;
            header?: {
                /** @description A key of your choice for this one request. Sent again with the same body, the request gets the first answer; with another body, `idempotency_mismatch`. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
                /** @description The id of the change request. */
                crId: components["parameters"]["crId"];
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "message": "Fix the build"
                 *     }
                 */
                "application/json": {
                    message?: string;
                    expected_head_sha?: string;
                    expected_base_sha?: string;
                };
            };
        };
        responses: {
            /** @description Success */
            200: {
                headers: {
                    "Idempotency-Replayed": components["headers"]["Idempotency-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        change_request: components["schemas"]["ChangeRequest"];
                        merge: {
                            merge_commit_sha: string;
                            fast_forward: boolean;
                            up_to_date: boolean;
                            base_sha_before: string;
                            base_sha_after: string;
                        };
                    };
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    previewChangeRequest: {
        parameters: {
            query?: {
                /** @example effects */
                include?: string;
            };
            header?: never;
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
                /** @description The id of the change request. */
                crId: components["parameters"]["crId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MergePreview"];
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    reopenChangeRequest: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
                /** @description The id of the change request. */
                crId: components["parameters"]["crId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChangeRequest"];
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    verifyChangeRequest: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
                /** @description The id of the change request. */
                crId: components["parameters"]["crId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        verified: boolean;
                        kind: ("merge-commit" | "fast-forward" | "up-to-date") | null;
                        expected: {
                            tree: string | null;
                            commit: string | null;
                        };
                        got: {
                            tree: string | null;
                            commit: string | null;
                        };
                        git_version: string;
                        /** @description Why the merge is not verified. */
                        reason?: string;
                    };
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    getChangeRequestOrigins: {
        parameters: {
            query: {
                /**
                 * @description The path of a changed file, as the diff names it.
                 * @example src/login.ts
                 */
                path: string;
            };
            header?: never;
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
                /** @description The id of the change request. */
                crId: components["parameters"]["crId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChangeRequestOrigins"];
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    getChecks: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
                /** @description The id of the change request. */
                crId: components["parameters"]["crId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChangeRequestChecks"];
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    readCheckLog: {
        parameters: {
            query?: {
                lines?: number;
            };
            header?: never;
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
                /** @description The id of the change request. */
                crId: components["parameters"]["crId"];
                runId: components["parameters"]["runId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        check: components["schemas"]["Check"];
                        lines: components["schemas"]["CheckLogLine"][];
                        /** @description Whether there are lines before the first one. */
                        truncated: boolean;
                    };
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    rerunChecks: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
                /** @description The id of the change request. */
                crId: components["parameters"]["crId"];
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "name": "unit"
                 *     }
                 */
                "application/json": {
                    name?: string;
                };
            };
        };
        responses: {
            /** @description Success */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChangeRequestChecks"];
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    answerComment: {
        parameters: {
            query?: never;
            header?: {
                /** @description A key of your choice for this one request. Sent again with the same body, the request gets the first answer; with another body, `idempotency_mismatch`. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
                /** @description The id of the change request. */
                crId: components["parameters"]["crId"];
                commentId: components["parameters"]["commentId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "outcome": "declined",
                 *       "text": "The port is already configurable."
                 *     }
                 */
                "application/json": {
                    /** @enum {string} */
                    outcome: "done" | "declined";
                    /** @description A commit of the head branch. Only with `done`. */
                    commit?: string;
                    /** @default  */
                    text?: string;
                };
            };
        };
        responses: {
            /** @description Success */
            200: {
                headers: {
                    "Idempotency-Replayed": components["headers"]["Idempotency-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Review"];
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    applySuggestions: {
        parameters: {
            query?: never;
            header?: {
                /** @description A key of your choice for this one request. Sent again with the same body, the request gets the first answer; with another body, `idempotency_mismatch`. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
                /** @description The id of the change request. */
                crId: components["parameters"]["crId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "comment_ids": [
                 *         "5f0c3a52-7c4e-8d1b-8a9e-0d2f6b1c4e77"
                 *       ],
                 *       "expected_head_sha": "9fceb02d0ae598e95dc970b74767f19372d61af8"
                 *     }
                 */
                "application/json": {
                    comment_ids: string[];
                    /** @description The head that you saw. */
                    expected_head_sha: string;
                    /** @description The message of the commit; empty for the default. */
                    message?: string;
                };
            };
        };
        responses: {
            /** @description Success */
            201: {
                headers: {
                    "Idempotency-Replayed": components["headers"]["Idempotency-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AppliedSuggestions"];
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    listReviews: {
        parameters: {
            query?: {
                /** @description The most entries of one page. Without it, the list is whole. */
                limit?: number;
                /** @description The cursor in the `Link` header of the page before. */
                cursor?: string;
            };
            header?: never;
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
                /** @description The id of the change request. */
                crId: components["parameters"]["crId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        reviews: components["schemas"]["Review"][];
                    };
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    createReview: {
        parameters: {
            query?: never;
            header?: {
                /** @description A key of your choice for this one request. Sent again with the same body, the request gets the first answer; with another body, `idempotency_mismatch`. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
                /** @description The id of the change request. */
                crId: components["parameters"]["crId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "head_sha": "9fceb02d0ae598e95dc970b74767f19372d61af8",
                 *       "body": "Please add a test.",
                 *       "comments": [
                 *         {
                 *           "path": "README.md",
                 *           "side": "new",
                 *           "line": 1,
                 *           "text": "Name the port here."
                 *         }
                 *       ],
                 *       "send": false
                 *     }
                 */
                "application/json": {
                    head_sha: string;
                    /** @default  */
                    body?: string;
                    /** @default [] */
                    comments?: components["schemas"]["ReviewComment"][];
                    /**
                     * @description Whether the session gets the review as a prompt.
                     * @default true
                     */
                    send?: boolean;
                    /** @description Your drafts that the review replaces. */
                    draft_ids?: string[];
                };
            };
        };
        responses: {
            /** @description Success */
            201: {
                headers: {
                    "Idempotency-Replayed": components["headers"]["Idempotency-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Review"];
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    replyToComment: {
        parameters: {
            query?: never;
            header?: {
                /** @description A key of your choice for this one request. Sent again with the same body, the request gets the first answer; with another body, `idempotency_mismatch`. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
                /** @description The id of the change request. */
                crId: components["parameters"]["crId"];
                commentId: components["parameters"]["commentId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "text": "On every interface?"
                 *     }
                 */
                "application/json": {
                    text: string;
                    /**
                     * @description Whether the session gets the reply as a prompt.
                     * @default false
                     */
                    send?: boolean;
                };
            };
        };
        responses: {
            /** @description Success */
            201: {
                headers: {
                    "Idempotency-Replayed": components["headers"]["Idempotency-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Review"];
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    resolveComment: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
                /** @description The id of the change request. */
                crId: components["parameters"]["crId"];
                commentId: components["parameters"]["commentId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "resolved": true
                 *     }
                 */
                "application/json": {
                    resolved: boolean;
                };
            };
        };
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Review"];
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    countOpenWork: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenWork"][];
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    getInbox: {
        parameters: {
            query?: {
                /** @description The most entries of one page. */
                limit?: number;
                /** @description The cursor in the `Link` header of the page before. */
                cursor?: string;
                /** @description Only the projects of this account. */
                account_id?: string;
                /** @description Only this project. */
                project_id?: string;
                /** @description `snoozed` and `done` list what the caller put away. */
                view?: "open" | "snoozed" | "done";
                group?: "answer" | "review" | "unblock" | "running";
                /** @description The most items of each group. The answer is then one page, and `counts` says how many there are. */
                per_group?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["InboxItem"][];
                        /** @description The items of this view in each group, on all pages. */
                        counts: components["schemas"]["InboxCounts"];
                        snoozed: number;
                        done: number;
                    };
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    putAwayInboxItem: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                key: components["parameters"]["key"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "version": "6dd1f5a4~conflicts",
                 *       "until": null
                 *     }
                 */
                "application/json": {
                    /** @description The version that was shown. If the item has changed since, it stays. */
                    version: string;
                    /**
                     * @description When it comes back. Null: it is done.
                     * @default null
                     */
                    until?: string | null;
                };
            };
        };
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Ok"];
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    restoreInboxItem: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                key: components["parameters"]["key"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Ok"];
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    streamInbox: {
        parameters: {
            query?: {
                /** @description Begins a stream with what happened in the last so many seconds, for a reader that read the state before. */
                recent?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": {
                        event: string;
                        id?: string;
                        data: string;
                    };
                    "application/json": components["schemas"]["InboxMark"];
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    searchEverything: {
        parameters: {
            query: {
                /** @example retry webhooks */
                text: string;
                /** @description The project whose results come first. */
                project_id?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        change_requests: components["schemas"]["FoundChangeRequest"][];
                        sessions: components["schemas"]["FoundSession"][];
                    };
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    getReviewState: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
                /** @description The id of the change request. */
                crId: components["parameters"]["crId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReviewState"];
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    editReviewState: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
                /** @description The id of the change request. */
                crId: components["parameters"]["crId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "viewed": {
                 *         "README.md": "8c7e5a6"
                 *       }
                 *     }
                 */
                "application/json": {
                    viewed?: {
                        [key: string]: string | null;
                    };
                    drafts?: {
                        [key: string]: components["schemas"]["DraftComment"] | null;
                    };
                    /** @description The head that you see now. */
                    visited?: string;
                    /**
                     * @description How you read the files, in every change request.
                     * @enum {string}
                     */
                    file_order?: "folders" | "guided";
                };
            };
        };
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReviewState"];
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    listChangeRequestVersions: {
        parameters: {
            query?: {
                /** @description The most entries of one page. Without it, the list is whole. */
                limit?: number;
                /** @description The cursor in the `Link` header of the page before. */
                cursor?: string;
            };
            header?: never;
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
                /** @description The id of the change request. */
                crId: components["parameters"]["crId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        versions: components["schemas"]["ChangeRequestVersion"][];
                    };
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    disableTrigger: {
        parameters: {
            query?: never;
            header?: {
                /** @description A key of your choice for this one request. Sent again with the same body, the request gets the first answer; with another body, `idempotency_mismatch`. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
                /** @description The slug from svc.toml. */
                slug: components["parameters"]["slug"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    "Idempotency-Replayed": components["headers"]["Idempotency-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        change_request: components["schemas"]["ChangeRequest"] | null;
                        merged: boolean;
                    };
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    enableTrigger: {
        parameters: {
            query?: never;
            header?: {
                /** @description A key of your choice for this one request. Sent again with the same body, the request gets the first answer; with another body, `idempotency_mismatch`. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
                /** @description The slug from svc.toml. */
                slug: components["parameters"]["slug"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    "Idempotency-Replayed": components["headers"]["Idempotency-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        change_request: components["schemas"]["ChangeRequest"] | null;
                        merged: boolean;
                    };
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    fireTrigger: {
        parameters: {
            query?: never;
            header?: {
                /** @description A key of your choice for this one request. Sent again with the same body, the request gets the first answer; with another body, `idempotency_mismatch`. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
                /** @description The slug from svc.toml. */
                slug: components["parameters"]["slug"];
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "message": "Run once before the release."
                 *     }
                 */
                "application/json": {
                    message?: string;
                };
            };
        };
        responses: {
            /** @description Success */
            202: {
                headers: {
                    "Idempotency-Replayed": components["headers"]["Idempotency-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** Format: uuid */
                        session_id: string;
                        /** @constant */
                        status: "fired";
                    };
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    getTrigger: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
                /** @description The slug from svc.toml. */
                slug: components["parameters"]["slug"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        slug: string;
                        /** @description The same as slug. */
                        name: string;
                        /** @enum {string} */
                        type: "cron" | "webhook";
                        enabled: boolean;
                        cron: string | null;
                        timezone: string;
                        run_at: string | null;
                        /** @description `cron` or `run_at` in words, in `timezone`; null for a webhook. Older servers omit it. */
                        schedule?: string | null;
                        agent: string | null;
                        model: string | null;
                        prompt: string;
                        /** @description The same as prompt, with its placeholders unfilled. */
                        prompt_template: string;
                        secret_env: string | null;
                        last_fired_at: string | null;
                        next_fire_at: string | null;
                        /** @description `next_fire_at` and the two times after it. Older servers omit it. */
                        next_fire_times?: string[];
                        webhook_url: string | null;
                        slots: components["schemas"]["TriggerSlot"][];
                    };
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    listTriggers: {
        parameters: {
            query?: {
                /** @description The most entries of one page. Without it, the list is whole. */
                limit?: number;
                /** @description The cursor in the `Link` header of the page before. */
                cursor?: string;
            };
            header?: never;
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        triggers: components["schemas"]["Trigger"][];
                        errors: components["schemas"]["ManifestIssue"][];
                    };
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    streamProjectEvents: {
        parameters: {
            query?: {
                after?: number;
                /** @description Begins a stream with what happened in the last so many seconds, for a reader that read the state before. */
                recent?: number;
                limit?: number;
            };
            header?: never;
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": {
                        event: string;
                        id?: string;
                        data: string;
                    };
                    "application/json": {
                        /** @description Oldest first. Without `after`, the newest ones. */
                        events: components["schemas"]["ProjectEvent"][];
                        /** @description The id of the newest event; 0 when there is none. */
                        last: number;
                        /** @description Events up to and including this id are deleted. */
                        forgotten: number;
                    };
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    claimLinkCode: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    code: string;
                };
            };
        };
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {string} */
                        platform: "slack";
                        workspace_name: string;
                        chat_user_id: string;
                        chat_user_name: string;
                        /** @description The email address that the platform has for the user; null when unknown. */
                        chat_user_email: string | null;
                        /** Format: uuid */
                        project_id: string;
                        project_name: string;
                        account_name: string;
                        user_name: string;
                        user_email: string | null;
                        /** Format: date-time */
                        expires_at: string;
                    };
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    listChannels: {
        parameters: {
            query?: {
                /** @description The most entries of one page. Without it, the list is whole. */
                limit?: number;
                /** @description The cursor in the `Link` header of the page before. */
                cursor?: string;
            };
            header?: never;
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        channels: components["schemas"]["Channel"][];
                        setup: components["schemas"]["ChatSetup"][];
                        errors: components["schemas"]["ManifestIssue"][];
                    };
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    connectChannel: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "bot_token": "xoxb-1-abcdef",
                 *       "signing_secret": "8f742231b10e8888abcd99yyyzzz85a5",
                 *       "conversation_id": "C0123456789"
                 *     }
                 */
                "application/json": {
                    /**
                     * @default slack
                     * @enum {string}
                     */
                    platform?: "slack";
                    bot_token: string;
                    signing_secret: string;
                    /** @description The platform's id of the channel, such as C0123456789. */
                    conversation_id: string;
                    /** @default false */
                    allow_unlinked?: boolean;
                };
            };
        };
        responses: {
            /** @description Success */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Channel"];
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    getChannel: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
                channelId: components["parameters"]["channelId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** Format: uuid */
                        channel_id: string;
                        /** @enum {string} */
                        platform: "slack";
                        workspace_id: string;
                        workspace_name: string;
                        /** @description The name of the app in the workspace. */
                        bot_name: string;
                        /** @description The platform's id of the channel. */
                        conversation_id: string;
                        conversation_name: string;
                        /** @description Whether people outside the workspace can read the channel. */
                        shared_externally: boolean;
                        /** @description Whether members of the workspace without a linked user act for the user who connected the channel. */
                        allow_unlinked: boolean;
                        /** @description The agent from svc.toml on the default branch; null for the default agent. */
                        agent: string | null;
                        events: string[];
                        /** @description Why messages are not delivered now. */
                        error: string | null;
                        waiting: number;
                        connected_by: string | null;
                        /** Format: date-time */
                        created_at: string;
                        /** Format: date-time */
                        updated_at: string;
                        threads: components["schemas"]["ChannelThread"][];
                        deliveries: components["schemas"]["ChannelDelivery"][];
                        links: components["schemas"]["ChannelLink"][];
                    };
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    disconnectChannel: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
                channelId: components["parameters"]["channelId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Ok"];
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    editChannel: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
                channelId: components["parameters"]["channelId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "allow_unlinked": true
                 *     }
                 */
                "application/json": {
                    allow_unlinked: boolean;
                };
            };
        };
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Channel"];
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    listChannelLinks: {
        parameters: {
            query?: {
                /** @description The most entries of one page. Without it, the list is whole. */
                limit?: number;
                /** @description The cursor in the `Link` header of the page before. */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChannelLink"][];
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    linkChatUser: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    code: string;
                };
            };
        };
        responses: {
            /** @description Success */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChannelLink"];
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    testChannel: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
                channelId: components["parameters"]["channelId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        sent: boolean;
                        error: string | null;
                    };
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    unlinkChatUser: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                linkId: components["parameters"]["linkId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Ok"];
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    listWebhooks: {
        parameters: {
            query?: {
                /** @description The most entries of one page. Without it, the list is whole. */
                limit?: number;
                /** @description The cursor in the `Link` header of the page before. */
                cursor?: string;
            };
            header?: never;
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        webhooks: components["schemas"]["Webhook"][];
                    };
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    createWebhook: {
        parameters: {
            query?: never;
            header?: {
                /** @description A key of your choice for this one request. Sent again with the same body, the request gets the first answer; with another body, `idempotency_mismatch`. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "url": "http://127.0.0.1:9000/hooks/svc",
                 *       "events": [
                 *         "change_request.*",
                 *         "session.failed"
                 *       ]
                 *     }
                 */
                "application/json": {
                    url: string;
                    /**
                     * @default [
                     *       "*"
                     *     ]
                     */
                    events?: string[];
                    secret?: string;
                };
            };
        };
        responses: {
            /** @description Success */
            201: {
                headers: {
                    "Idempotency-Replayed": components["headers"]["Idempotency-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** Format: uuid */
                        webhook_id: string;
                        /** Format: uuid */
                        project_id: string;
                        url: string;
                        events: string[];
                        /**
                         * @description `retrying`: the last attempt failed; the next one is at `next_attempt_at`.
                         * @enum {string}
                         */
                        state: "active" | "retrying" | "paused";
                        /** @description Why the webhook is paused, or why the last attempt failed. */
                        reason: string | null;
                        /** @description The last event that was delivered or skipped. */
                        last_event: number;
                        /** @description Attempts to deliver the event that is pending. */
                        attempts: number;
                        next_attempt_at: string | null;
                        created_by: string | null;
                        /** Format: date-time */
                        created_at: string;
                        /** Format: date-time */
                        updated_at: string;
                        secret: string;
                    };
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    deleteWebhook: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
                webhookId: components["parameters"]["webhookId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Ok"];
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    updateWebhook: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
                webhookId: components["parameters"]["webhookId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "paused": true
                 *     }
                 */
                "application/json": {
                    url?: string;
                    events?: string[];
                    paused?: boolean;
                    /** @description `true` drops the events that were not delivered yet. */
                    from_now?: boolean;
                    /** @description `true` creates a new secret and returns it. */
                    rotate_secret?: boolean;
                    secret?: string;
                };
            };
        };
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** Format: uuid */
                        webhook_id: string;
                        /** Format: uuid */
                        project_id: string;
                        url: string;
                        events: string[];
                        /**
                         * @description `retrying`: the last attempt failed; the next one is at `next_attempt_at`.
                         * @enum {string}
                         */
                        state: "active" | "retrying" | "paused";
                        /** @description Why the webhook is paused, or why the last attempt failed. */
                        reason: string | null;
                        /** @description The last event that was delivered or skipped. */
                        last_event: number;
                        /** @description Attempts to deliver the event that is pending. */
                        attempts: number;
                        next_attempt_at: string | null;
                        created_by: string | null;
                        /** Format: date-time */
                        created_at: string;
                        /** Format: date-time */
                        updated_at: string;
                        secret: string | null;
                    };
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    listDeliveries: {
        parameters: {
            query?: {
                /** @description The most entries of one page. */
                limit?: number;
                /** @description The cursor in the `Link` header of the page before. */
                cursor?: string;
            };
            header?: never;
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
                webhookId: components["parameters"]["webhookId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        deliveries: components["schemas"]["WebhookDelivery"][];
                    };
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    pingWebhook: {
        parameters: {
            query?: never;
            header?: {
                /** @description A key of your choice for this one request. Sent again with the same body, the request gets the first answer; with another body, `idempotency_mismatch`. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
                webhookId: components["parameters"]["webhookId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            202: {
                headers: {
                    "Idempotency-Replayed": components["headers"]["Idempotency-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookDelivery"];
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    redeliver: {
        parameters: {
            query?: never;
            header?: {
                /** @description A key of your choice for this one request. Sent again with the same body, the request gets the first answer; with another body, `idempotency_mismatch`. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
                webhookId: components["parameters"]["webhookId"];
                deliveryId: components["parameters"]["deliveryId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            202: {
                headers: {
                    "Idempotency-Replayed": components["headers"]["Idempotency-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookDelivery"];
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    deployApp: {
        parameters: {
            query?: never;
            header?: {
                /** @description A key of your choice for this one request. Sent again with the same body, the request gets the first answer; with another body, `idempotency_mismatch`. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
                /** @description The slug from svc.toml. */
                slug: components["parameters"]["slug"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            202: {
                headers: {
                    "Idempotency-Replayed": components["headers"]["Idempotency-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        app: components["schemas"]["App"];
                        deploy: components["schemas"]["AppDeploy"];
                    };
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    getApp: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
                /** @description The slug from svc.toml. */
                slug: components["parameters"]["slug"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["App"];
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    listApps: {
        parameters: {
            query?: {
                /** @description The most entries of one page. Without it, the list is whole. */
                limit?: number;
                /** @description The cursor in the `Link` header of the page before. */
                cursor?: string;
            };
            header?: never;
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        apps: components["schemas"]["App"][];
                        errors: components["schemas"]["ManifestIssue"][];
                        /** @enum {string} */
                        provider: "local" | "none";
                    };
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    openApp: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
                /** @description The slug from svc.toml. */
                slug: components["parameters"]["slug"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        url: string;
                    };
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    readAppLogs: {
        parameters: {
            query?: {
                follow?: "0" | "1" | "true" | "false";
                /** @description The number or id of a deploy. The default is the newest. */
                deploy?: string;
                /** @example 100 */
                lines?: number;
            };
            header?: never;
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
                /** @description The slug from svc.toml. */
                slug: components["parameters"]["slug"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AppLog"];
                    "text/event-stream": {
                        event: string;
                        id?: string;
                        data: string;
                    };
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    rollbackApp: {
        parameters: {
            query?: never;
            header?: {
                /** @description A key of your choice for this one request. Sent again with the same body, the request gets the first answer; with another body, `idempotency_mismatch`. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
                /** @description The slug from svc.toml. */
                slug: components["parameters"]["slug"];
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    deploy?: number | string;
                };
            };
        };
        responses: {
            /** @description Success */
            202: {
                headers: {
                    "Idempotency-Replayed": components["headers"]["Idempotency-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        app: components["schemas"]["App"];
                        deploy: components["schemas"]["AppDeploy"];
                    };
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    stopApp: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
                /** @description The slug from svc.toml. */
                slug: components["parameters"]["slug"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["App"];
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    getHostWebhook: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["HostWebhook"];
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    rotateHostWebhook: {
        parameters: {
            query?: never;
            header?: {
                /** @description A key of your choice for this one request. Sent again with the same body, the request gets the first answer; with another body, `idempotency_mismatch`. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    "Idempotency-Replayed": components["headers"]["Idempotency-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["HostWebhook"];
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    checkConnector: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
                /** @description The slug from svc.toml. */
                slug: components["parameters"]["slug"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Connector"];
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    decideConnectorApproval: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
                approvalId: components["parameters"]["approvalId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @enum {string} */
                    decision: "approve" | "deny";
                    /** @description Also decides the later calls of this tool: they are allowed, or blocked. */
                    always?: boolean;
                };
            };
        };
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ConnectorApproval"];
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    getConnector: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
                /** @description The slug from svc.toml. */
                slug: components["parameters"]["slug"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        slug: string;
                        /** @enum {string} */
                        type: "mcp" | "http";
                        url: string;
                        auth: {
                            /** @enum {string} */
                            type: "bearer" | "header" | "oauth";
                            secret_env: string | null;
                            header: string | null;
                        } | null;
                        /**
                         * @description `unchecked`: the tools were not read yet. `off`: the operator offers no connectors.
                         * @enum {string}
                         */
                        status: "unchecked" | "ready" | "failed" | "off";
                        /** @description Why there are no tools. */
                        error: string | null;
                        hint: string | null;
                        checked_at: string | null;
                        /** @description The policy a person set for all tools. Null is the default: reading is allowed, everything else asks. */
                        policy: ("allow" | "ask" | "block") | null;
                        tools: components["schemas"]["ConnectorTool"][];
                        calls: components["schemas"]["ConnectorCall"][];
                    };
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    listConnectorApprovals: {
        parameters: {
            query?: {
                status?: "pending" | "all";
                session_id?: string;
                limit?: number;
                /** @description The cursor in the `Link` header of the page before. */
                cursor?: string;
            };
            header?: never;
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        approvals: components["schemas"]["ConnectorApproval"][];
                    };
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    listConnectors: {
        parameters: {
            query?: {
                /** @description The most entries of one page. Without it, the list is whole. */
                limit?: number;
                /** @description The cursor in the `Link` header of the page before. */
                cursor?: string;
            };
            header?: never;
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        connectors: components["schemas"]["Connector"][];
                        errors: components["schemas"]["ManifestIssue"][];
                        /** @enum {string} */
                        provider: "mcp" | "none";
                        gateway_url: string;
                        approvals_pending: number;
                    };
                };
            };
            default: components["responses"]["Internal"];
        };
    };
    setConnectorPolicy: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the project, or its slug. */
                projectId: components["parameters"]["projectId"];
                /** @description The slug from svc.toml. */
                slug: components["parameters"]["slug"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "policy": "ask"
                 *     }
                 */
                "application/json": {
                    /** @description For all tools; null restores the default. */
                    policy?: ("allow" | "ask" | "block") | null;
                    /** @description For single tools, by name. */
                    tools?: {
                        [key: string]: ("allow" | "ask" | "block") | null;
                    };
                };
            };
        };
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Connector"];
                };
            };
            default: components["responses"]["Internal"];
        };
    };
}
