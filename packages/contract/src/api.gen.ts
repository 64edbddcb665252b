// Made by packages/contract/generate-api.ts from the routes; edit those.
export interface paths {
    "/v1/health": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The process answers */
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
        /** Requests are served; 503 while a part is away */
        get: operations["getReady"];
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
        /** The members of an account with their roles, in the order in which they joined */
        get: operations["listMembers"];
        put?: never;
        /** Invite a person by e-mail address; they join when they accept, within seven days */
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
        /** Remove a member, or leave: their tokens reach nothing of the account any more */
        delete: operations["removeMember"];
        options?: never;
        head?: never;
        /** Change the role of a member; every token of theirs is cut to it at once */
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
        /** Give the password once more in this browser: account changes ask for it after ten minutes */
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
        /** The accounts the caller belongs to, the oldest first */
        get: operations["listAccounts"];
        put?: never;
        /** Make another account, whose owner the caller becomes; for owners of the first account */
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
        /** Make a one-time link that signs its opener in as the caller, in a browser that gave its password or came by single sign-on within ten minutes; never with an API token */
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
        /** Sign a browser out of the dashboard; its next request fails */
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
        /** The user of this token and the accounts they belong to */
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
        /** Whether the caller can sign in with a password, and by which e-mail address */
        get: operations["getPassword"];
        put?: never;
        /** Set e-mail and password of the caller, from the dashboard only; ends their other dashboard sessions. A password that is set is asked for, except soon after an owner link */
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
        /** Who changed what in an account, newest first */
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
        /** Where the caller is signed in to the dashboard */
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
        /** The ways to sign in to the dashboard besides an owner link */
        get: operations["getSignInMethods"];
        put?: never;
        /** Exchange the code of an owner link or invitation for a dashboard cookie; the code works once. An invitation makes a new user */
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
        /** Sign in to the dashboard with e-mail and password; wrong ones are limited per e-mail and address */
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
        /** End this dashboard session */
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
        /** Rename an account; its plan is changed by owners of the first account */
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
        /** Accept an invitation as the signed-in person, in a browser: by the code of its link, or by id for a verified address */
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
        /** Make the one-time link of an invitation, in a browser that signed in within ten minutes; an earlier link ends */
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
        /** The pending invitations of an account, the newest first */
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
        /** Pending invitations of the address that the sign-in provider verified for the caller */
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
        /** The account, role and inviter behind the code of an invitation link; the code is not spent */
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
        /** Revoke a pending invitation; its link ends */
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
        /** Dismiss notices up to one, in a browser; a token cannot hide what it did */
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
        /** Credentials and invitations made in your name since you last dismissed these notices, the newest first */
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
        /** Let the client of a terminal sign in as the caller: a click on our page, never a token */
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
        /** The tokens of a project, never their values */
        get: operations["listProjectTokens"];
        put?: never;
        /** Mint a project token; a token bound to a session gets one bound to the same session */
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
        /** The user tokens of the caller, never their values */
        get: operations["listUserTokens"];
        put?: never;
        /** Mint a user token */
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
        /** Exchange the code of a click, once, for a token of one minute that mints the user token */
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
        /** Revoke a project token; the next request with it fails */
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
        /** Revoke a user token; the next request with it fails */
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
        /** Who this token is */
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
        /** The projects of the accounts the caller belongs to, newest first */
        get: operations["listProjects"];
        put?: never;
        /** Make a project from a git repository, or with a new managed one */
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
        /** One project */
        get: operations["getProject"];
        put?: never;
        post?: never;
        /** Delete a project with its change requests, sessions, secrets and its managed repository */
        delete: operations["deleteProject"];
        options?: never;
        head?: never;
        /** Change a project: its name, its settings, the credential of its git host */
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
        /** A git credential that lives 15 minutes and may write exactly the session branch */
        get: operations["getCloneCredential"];
        put?: never;
        post?: never;
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
        /** What is wrong with a text as svc.toml; nothing of it is kept */
        post: operations["validateManifest"];
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
        /** What a change request of these two branches would be: how it merges, what it changes, its commits */
        get: operations["compareRefs"];
        put?: never;
        post?: never;
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
        /** One file at a branch or commit; `Accept: application/octet-stream` answers its bytes alone */
        get: operations["getFile"];
        put?: never;
        post?: never;
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
        /** The branches of a project by name, as they are now */
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
        /** The history of a branch or commit, newest first; with `path`, of one file or folder */
        get: operations["listCommits"];
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
        /** What is in a folder at a branch or commit, folders first */
        get: operations["listTree"];
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
        /** Remove a secret */
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
        /** The names of the secrets and what the manifest asks for; never a value */
        get: operations["listSecrets"];
        put?: never;
        /** Set a secret; sandboxes started from now on see it */
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
        /** Abort what the agent is doing now */
        post: operations["abortSession"];
        delete?: never;
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
        /** The sessions of a project, newest first */
        get: operations["listSessions"];
        put?: never;
        /** Cut a session branch and start a sandbox on it */
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
        /** One session */
        get: operations["getSession"];
        put?: never;
        post?: never;
        /** Stop and delete a session; its branch and its change requests stay */
        delete: operations["deleteSession"];
        options?: never;
        head?: never;
        /** Rename a session or replace its metadata */
        patch: operations["updateSession"];
        trace?: never;
    };
    "/v1/projects/{projectId}/sessions/{sessionId}/timeline": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The steps of the last start with their durations */
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
        /** The conversation as the service keeps it, oldest first; readable after the session stopped. With a limit its end, and by the next page what came before; or its start */
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
        /** The prompts of a session with what became of each, newest first */
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
        /** Send a prompt to the agent; a stopped session is started for it */
        post: operations["promptSession"];
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
        /** Start a session again in a new sandbox, from its branch */
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
        /** Stop a session: its sandbox is torn down, its branch stays */
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
        /** Server-sent events of one session: first what is, then what changes. With Last-Event-ID only the messages that changed since */
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
        /** Where models are reached, without the key; owners of the instance only */
        get: operations["getModelUpstream"];
        /** Set the model upstream for every server of this database, after one request to it succeeds; owners of the instance only */
        put: operations["setModelUpstream"];
        post?: never;
        /** Remove the saved model upstream and its key; owners of the instance only */
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
        /** The models that sessions, agents and triggers can choose from, the default first */
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
        /** Answer a question of an agent: one of its values, or free text for a question. People answer; the token of any sandbox is refused */
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
        /** Questions the agent has asked, newest first: permissions, questions and connector calls to approve */
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
        /** What the models and sandboxes of an account were used for */
        get: operations["accountUsage"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /** Set how many tokens an account may use in a month */
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
        /** What the models and sandboxes of a project were used for, and how much storage it takes */
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
        /** What the model and the sandboxes of a session were used for */
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
        /** Saved work as a git bundle, without the commits named by `have` */
        get: operations["bundleUnfinishedWork"];
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
        /** What a session holds that was not committed and pushed, as the service saved it last */
        get: operations["getUnfinishedWork"];
        put?: never;
        /** Save the unfinished work of a running session now */
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
        /** Sessions of a project that hold unfinished work */
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
        /** Apply saved work to the work tree of the running session */
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
        /** Say that saved work was recovered, so that it is no longer shown */
        post: operations["settleUnfinishedWork"];
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
        /** The address of a port of a session: it works once, for the browser that opens it first */
        get: operations["getPreview"];
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
        /** Close a change request without merging it */
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
        /** What a change request changes; `Accept: text/x-diff` answers the patch alone */
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
        /** One change request, with live branch tips while it is open */
        get: operations["getChangeRequest"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /** Edit title, description or metadata of a change request that is not merged */
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
        /** Whether the git host protects the base, and the pull request there */
        get: operations["getPullRequest"];
        put?: never;
        /** Open a pull request for it on the git host, or find the one that is open */
        post: operations["openPullRequest"];
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
        /** The change requests of a project, newest first, with live branch tips */
        get: operations["listChangeRequests"];
        put?: never;
        /** Open a change request */
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
        /** Merge an open change request: a fast-forward where possible, else a merge commit */
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
        /** Whether a change request merges, and which files would conflict */
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
        /** Reopen a closed change request */
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
        /** Makes a merge again from its stored receipt and compares tree and commit */
        get: operations["verifyChangeRequest"];
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
        /** The checks of a change request: of the default branch’s svc.toml, run on what its merge would give */
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
        /** The newest lines of what a check wrote, oldest of them first */
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
        /** Run a check again, or all that ended and did not pass */
        post: operations["rerunChecks"];
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
        /** The reviews of a change request, oldest first */
        get: operations["listReviews"];
        put?: never;
        /** Review a change request: kept with it, and sent to its session as one prompt, which wakes it */
        post: operations["createReview"];
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
        /** Disable a trigger in svc.toml by a change request; of a user, it is merged at once */
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
        /** Enable a trigger in svc.toml by a change request; of a user, it is merged at once */
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
        /** Fire a trigger now, enabled or not: starts a session */
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
        /** One trigger with its newest slots: when it was due, and what came of it */
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
        /** The triggers of svc.toml on the default branch, in its order, and what is wrong with them there */
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
        /** Server-sent events of a project, from now on, or after the id in Last-Event-ID or ?after. With Accept: application/json one page of them */
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
        /** Whom a code of the chat app would link to you; from then on it is yours alone */
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
        /** The chat channels of a project, and what a chat platform needs to be told to reach it */
        get: operations["listChannels"];
        put?: never;
        /** Connect a channel of a chat workspace; a connected one gets the new credentials */
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
        /** One channel with its newest threads and deliveries, and the members who are linked */
        get: operations["getChannel"];
        put?: never;
        post?: never;
        /** Disconnect a channel: its credentials are forgotten, its sessions stay */
        delete: operations["disconnectChannel"];
        options?: never;
        head?: never;
        /** Say whether people of the workspace who are not linked may start sessions */
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
        /** The chat users who act as you */
        get: operations["listChannelLinks"];
        put?: never;
        /** Link the chat user of a claimed code to you: in chat they act as you */
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
        /** Write a message into the channel now, and say how it went */
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
        /** Unlink a chat user of yours */
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
        /** Where events of the project are sent */
        get: operations["listWebhooks"];
        put?: never;
        /** Send events of the project to an address, signed; begins with the next one. The secret is shown once */
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
        /** Send nothing more to that address */
        delete: operations["deleteWebhook"];
        options?: never;
        head?: never;
        /** Change where or what a webhook sends, pause or resume it, or give it a new secret */
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
        /** What a webhook was sent and what it answered, newest first */
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
        /** Send a ping, also where the webhook is paused */
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
        /** Send an event once more, under the id of its first delivery */
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
        /** Deploy an app from the default branch now, also one that was stopped */
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
        /** One app with its newest deploys */
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
        /** The apps of svc.toml on the default branch, in its order, and what is wrong with them there */
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
        /** The address of an app for one browser: it works once, for the browser that opens it first */
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
        /** What building and running an app said; with follow=1 as server-sent events, one a line, that go on */
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
        /** Deploy what an earlier deploy was made from: the last that served before this one, or the one named */
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
        /** Stop an app; it stays stopped until it is deployed again */
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
        /** What to enter at the git host, so that pushes are seen at once */
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
        /** Make a secret for the git host; the one before it is taken no more */
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
        /** Ask a connector for its tools now */
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
        /** Approve or deny a call that waits, once or from now on; a person does it, no agent */
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
        /** One connector with its newest calls */
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
        /** Calls of connectors that wait for a person, or were decided lately; newest first */
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
        /** The connectors of svc.toml on the default branch with their tools, and why some have none */
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
        /** Say what agents may do with the tools of a connector; a person says it, no agent */
        patch: operations["setConnectorPolicy"];
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        Error: {
            error: string;
            code: string;
            hint?: string;
        } & {
            [key: string]: unknown;
        };
        SessionEvent: {
            /** @constant */
            type: "session";
            session: {
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
                last_turn_error: {
                    code: string;
                    message: string;
                    /** Format: date-time */
                    at: string;
                } | null;
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
                parent_session_id: string | null;
                metadata: {
                    [key: string]: unknown;
                };
                /** Format: date-time */
                created_at: string;
                /** Format: date-time */
                updated_at: string;
                /** Format: date-time */
                last_active_at: string;
                is_busy?: boolean;
                waiting_for: "person" | null;
            };
        } | {
            /** @constant */
            type: "message";
            message: {
                message_id: string;
                /** @enum {string} */
                role: "user" | "assistant";
                /** Format: date-time */
                created_at: string;
                completed_at: string | null;
                error: string | null;
                parts: ({
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
                })[];
            };
        } | {
            /** @constant */
            type: "turn";
            /** @enum {string} */
            status: "busy" | "idle" | "error";
            error: string | null;
        } | {
            /** @constant */
            type: "question";
            question: {
                /** Format: uuid */
                question_id: string;
                /** @enum {string} */
                kind: "permission" | "question" | "connector";
                title: string;
                detail: string;
                options: {
                    value: string;
                    label: string;
                }[];
                /** @enum {string} */
                status: "open" | "answered" | "expired";
                answer: string | null;
                /** Format: date-time */
                asked_at: string;
                answered_by: string | null;
                reason: string | null;
            };
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
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
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
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
                        sandbox: {
                            driver: string;
                            ready: boolean;
                            problem: string | null;
                            install: string | null;
                            missing_limits: ("memory" | "cpu" | "processes")[];
                        };
                        /** @enum {string} */
                        model: "upstream" | "scripted" | "none";
                        disk: {
                            ready: boolean;
                            problem: string | null;
                        };
                        providers: {
                            /** @enum {string} */
                            apps: "local" | "none";
                            /** @enum {string} */
                            connectors: "mcp" | "none";
                        };
                    };
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    listMembers: {
        parameters: {
            query?: {
                limit?: number;
                cursor?: string;
            };
            header?: never;
            path: {
                accountId: string;
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
                        user_id: string;
                        name: string;
                        email: string | null;
                        /** @enum {string} */
                        role: "owner" | "admin" | "member" | "viewer";
                        /** Format: date-time */
                        created_at: string;
                    }[];
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    addMember: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                accountId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
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
                        member: {
                            /** Format: uuid */
                            user_id: string;
                            name: string;
                            email: string | null;
                            /** @enum {string} */
                            role: "owner" | "admin" | "member" | "viewer";
                            /** Format: date-time */
                            created_at: string;
                        };
                        /** Format: uuid */
                        invitation_id: string;
                        sign_in: {
                            url: string;
                            /** Format: date-time */
                            expires_at: string;
                        } | null;
                    };
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    removeMember: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                accountId: string;
                userId: string;
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
                    };
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    changeRole: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                accountId: string;
                userId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
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
                    "application/json": {
                        /** Format: uuid */
                        user_id: string;
                        name: string;
                        email: string | null;
                        /** @enum {string} */
                        role: "owner" | "admin" | "member" | "viewer";
                        /** Format: date-time */
                        created_at: string;
                    };
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
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
                    "application/json": {
                        /** @constant */
                        ok: true;
                    };
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    listAccounts: {
        parameters: {
            query?: {
                limit?: number;
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
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        accounts: {
                            /** Format: uuid */
                            account_id: string;
                            name: string;
                            /** @enum {string} */
                            plan: "free" | "pro" | "team" | "selfhost";
                            /** @enum {string} */
                            role: "owner" | "admin" | "member" | "viewer";
                        }[];
                    };
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    createAccount: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
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
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** Format: uuid */
                        account_id: string;
                        name: string;
                        /** @enum {string} */
                        plan: "free" | "pro" | "team" | "selfhost";
                        /** @enum {string} */
                        role: "owner" | "admin" | "member" | "viewer";
                    };
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
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
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    endDashboardSession: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                dashboardSessionId: string;
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
                    };
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
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
                        user: {
                            /** Format: uuid */
                            user_id: string;
                            name: string;
                            email: string | null;
                        };
                        account: {
                            /** Format: uuid */
                            account_id: string;
                            name: string;
                            /** @enum {string} */
                            plan: "free" | "pro" | "team" | "selfhost";
                            /** @enum {string} */
                            role: "owner" | "admin" | "member" | "viewer";
                        };
                        accounts: {
                            /** Format: uuid */
                            account_id: string;
                            name: string;
                            /** @enum {string} */
                            plan: "free" | "pro" | "team" | "selfhost";
                            /** @enum {string} */
                            role: "owner" | "admin" | "member" | "viewer";
                        }[];
                    };
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
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
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
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
                    "application/json": {
                        /** @constant */
                        ok: true;
                    };
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    listAudit: {
        parameters: {
            query?: {
                limit?: number;
                cursor?: string;
                project_id?: string;
                action?: string;
                actor_user_id?: string;
            };
            header?: never;
            path: {
                accountId: string;
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
                        action: string;
                        object_type: string;
                        object_id: string;
                        before: unknown;
                        after: unknown;
                    }[];
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    listDashboardSessions: {
        parameters: {
            query?: {
                limit?: number;
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
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
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
                        current: boolean;
                    }[];
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
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
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
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
                    "application/json": {
                        /** @constant */
                        ok: true;
                    };
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
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
                    "application/json": {
                        /** @constant */
                        ok: true;
                    };
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
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
                    "application/json": {
                        /** @constant */
                        ok: true;
                    };
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    updateAccount: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                accountId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
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
                    "application/json": {
                        /** Format: uuid */
                        account_id: string;
                        name: string;
                        /** @enum {string} */
                        plan: "free" | "pro" | "team" | "selfhost";
                        /** @enum {string} */
                        role: "owner" | "admin" | "member" | "viewer";
                    };
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
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
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    linkInvitation: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                accountId: string;
                invitationId: string;
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
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    listInvitations: {
        parameters: {
            query?: {
                limit?: number;
                cursor?: string;
            };
            header?: never;
            path: {
                accountId: string;
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
                        invitations: {
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
                            has_link: boolean;
                        }[];
                    };
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    listReceivedInvitations: {
        parameters: {
            query?: {
                limit?: number;
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
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        invitations: {
                            /** Format: uuid */
                            invitation_id: string;
                            account_name: string;
                            invited_by: string | null;
                            email: string;
                            /** @enum {string} */
                            role: "owner" | "admin" | "member" | "viewer";
                            /** Format: date-time */
                            expires_at: string;
                        }[];
                    };
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
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
                    "application/json": {
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
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    revokeInvitation: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                accountId: string;
                invitationId: string;
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
                    };
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
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
                    "application/json": {
                        /** @constant */
                        ok: true;
                    };
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    listNotices: {
        parameters: {
            query?: {
                limit?: number;
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
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        notices: {
                            notice_id: number;
                            /** Format: date-time */
                            at: string;
                            action: string;
                            name: string | null;
                            address: string | null;
                            token_name: string | null;
                        }[];
                    };
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
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
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    listProjectTokens: {
        parameters: {
            query?: {
                limit?: number;
                cursor?: string;
            };
            header?: never;
            path: {
                projectId: string;
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
                        token_id: string;
                        name: string;
                        project_id: string | null;
                        session_id: string | null;
                        expires_at: string | null;
                        /** Format: date-time */
                        created_at: string;
                        last_used_at: string | null;
                    }[];
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    mintProjectToken: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                projectId: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
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
                    "application/json": {
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
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    listUserTokens: {
        parameters: {
            query?: {
                limit?: number;
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
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** Format: uuid */
                        token_id: string;
                        name: string;
                        project_id: string | null;
                        session_id: string | null;
                        expires_at: string | null;
                        /** Format: date-time */
                        created_at: string;
                        last_used_at: string | null;
                    }[];
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
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
                    "application/json": {
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
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
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
                    "application/json": {
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
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    revokeProjectToken: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                projectId: string;
                tokenId: string;
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
                    };
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    revokeUserToken: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                tokenId: string;
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
                    };
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
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
                        token_id: string | null;
                        user: {
                            /** Format: uuid */
                            user_id: string;
                            name: string;
                            email: string | null;
                        };
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
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    listProjects: {
        parameters: {
            query?: {
                limit?: number;
                cursor?: string;
                account_id?: string;
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
                        ssh_public_key: string | null;
                        settings: {
                            /**
                             * @default deny
                             * @enum {string}
                             */
                            agent_merge: "deny" | "allow";
                            /**
                             * @default off
                             * @enum {string}
                             */
                            manifest_gate: "off" | "on";
                            /**
                             * @default auto
                             * @enum {string}
                             */
                            git_host: "auto" | "plain" | "github";
                            /** @default null */
                            git_api_url: string | null;
                            /** @default null */
                            model_tokens_per_session: number | null;
                            /** @default null */
                            model_tokens_per_month: number | null;
                            /** @default 3 */
                            session_depth_max: number;
                            /** @default 10 */
                            session_descendants_max: number;
                            /** @default 60 */
                            session_starts_per_hour_max: number;
                            /** @default 10 */
                            webhook_sessions_max: number;
                            /** @default 120 */
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
                        /** Format: date-time */
                        created_at: string;
                        /** Format: date-time */
                        updated_at: string;
                    }[];
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    createProject: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    repo_url?: string;
                    name?: string;
                    /** Format: uuid */
                    account_id?: string;
                    default_branch?: string;
                    git_token?: string;
                    git_username?: string;
                    /** @constant */
                    git_ssh_key?: "generate";
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
                        ssh_public_key: string | null;
                        settings: {
                            /**
                             * @default deny
                             * @enum {string}
                             */
                            agent_merge: "deny" | "allow";
                            /**
                             * @default off
                             * @enum {string}
                             */
                            manifest_gate: "off" | "on";
                            /**
                             * @default auto
                             * @enum {string}
                             */
                            git_host: "auto" | "plain" | "github";
                            /** @default null */
                            git_api_url: string | null;
                            /** @default null */
                            model_tokens_per_session: number | null;
                            /** @default null */
                            model_tokens_per_month: number | null;
                            /** @default 3 */
                            session_depth_max: number;
                            /** @default 10 */
                            session_descendants_max: number;
                            /** @default 60 */
                            session_starts_per_hour_max: number;
                            /** @default 10 */
                            webhook_sessions_max: number;
                            /** @default 120 */
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
                        /** Format: date-time */
                        created_at: string;
                        /** Format: date-time */
                        updated_at: string;
                    };
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getProject: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                projectId: string;
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
                        ssh_public_key: string | null;
                        settings: {
                            /**
                             * @default deny
                             * @enum {string}
                             */
                            agent_merge: "deny" | "allow";
                            /**
                             * @default off
                             * @enum {string}
                             */
                            manifest_gate: "off" | "on";
                            /**
                             * @default auto
                             * @enum {string}
                             */
                            git_host: "auto" | "plain" | "github";
                            /** @default null */
                            git_api_url: string | null;
                            /** @default null */
                            model_tokens_per_session: number | null;
                            /** @default null */
                            model_tokens_per_month: number | null;
                            /** @default 3 */
                            session_depth_max: number;
                            /** @default 10 */
                            session_descendants_max: number;
                            /** @default 60 */
                            session_starts_per_hour_max: number;
                            /** @default 10 */
                            webhook_sessions_max: number;
                            /** @default 120 */
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
                        /** Format: date-time */
                        created_at: string;
                        /** Format: date-time */
                        updated_at: string;
                    };
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    deleteProject: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                projectId: string;
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
                    };
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    updateProject: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                projectId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    name?: string;
                    default_branch?: string;
                    git_token?: string;
                    git_username?: string;
                    /** @constant */
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
                    "application/json": {
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
                        ssh_public_key: string | null;
                        settings: {
                            /**
                             * @default deny
                             * @enum {string}
                             */
                            agent_merge: "deny" | "allow";
                            /**
                             * @default off
                             * @enum {string}
                             */
                            manifest_gate: "off" | "on";
                            /**
                             * @default auto
                             * @enum {string}
                             */
                            git_host: "auto" | "plain" | "github";
                            /** @default null */
                            git_api_url: string | null;
                            /** @default null */
                            model_tokens_per_session: number | null;
                            /** @default null */
                            model_tokens_per_month: number | null;
                            /** @default 3 */
                            session_depth_max: number;
                            /** @default 10 */
                            session_descendants_max: number;
                            /** @default 60 */
                            session_starts_per_hour_max: number;
                            /** @default 10 */
                            webhook_sessions_max: number;
                            /** @default 120 */
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
                        /** Format: date-time */
                        created_at: string;
                        /** Format: date-time */
                        updated_at: string;
                    };
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getCloneCredential: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                projectId: string;
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
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    validateManifest: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                projectId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
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
                        issues: {
                            path: string;
                            message: string;
                            /** @enum {string} */
                            severity: "error" | "warning";
                            line: number | null;
                            column: number | null;
                        }[];
                    };
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    compareRefs: {
        parameters: {
            query: {
                base?: string;
                head: string;
            };
            header?: never;
            path: {
                projectId: string;
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
                        effects?: {
                            applies: boolean;
                            triggers: {
                                slug: string;
                                /** @enum {string} */
                                change: "added" | "changed" | "removed" | "enabled" | "disabled";
                            }[];
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
                            settings: string[];
                            secrets_added: string[];
                            secrets_missing: string[];
                            manifest_issues: {
                                path: string;
                                message: string;
                                /** @enum {string} */
                                severity: "error" | "warning";
                                line: number | null;
                                column: number | null;
                            }[];
                            words: string[];
                        };
                        base_ref: string;
                        head_ref: string;
                        ahead: number;
                        behind: number;
                        commits: {
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
                        }[];
                        files: {
                            path: string;
                            old_path: string | null;
                            /** @enum {string} */
                            status: "added" | "modified" | "deleted" | "renamed";
                            additions: number;
                            deletions: number;
                            binary: boolean;
                        }[];
                        files_changed: number;
                        additions: number;
                        deletions: number;
                        truncated: boolean;
                    };
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getFile: {
        parameters: {
            query: {
                ref?: string;
                path: string;
            };
            header?: never;
            path: {
                projectId: string;
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
                        /** @enum {string} */
                        encoding: "utf-8" | "base64";
                        content: string;
                        truncated: boolean;
                    };
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    listBranches: {
        parameters: {
            query?: {
                limit?: number;
                cursor?: string;
            };
            header?: never;
            path: {
                projectId: string;
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
                        branches: {
                            name: string;
                            sha: string;
                            is_default: boolean;
                        }[];
                    };
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    listCommits: {
        parameters: {
            query?: {
                limit?: number;
                cursor?: string;
                ref?: string;
                path?: string;
            };
            header?: never;
            path: {
                projectId: string;
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
                        commits: {
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
                        }[];
                    };
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    listTree: {
        parameters: {
            query?: {
                limit?: number;
                cursor?: string;
                ref?: string;
                path?: string;
            };
            header?: never;
            path: {
                projectId: string;
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
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    deleteSecret: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                projectId: string;
                name: string;
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
                    };
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    listSecrets: {
        parameters: {
            query?: {
                limit?: number;
                cursor?: string;
            };
            header?: never;
            path: {
                projectId: string;
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
                        items: {
                            name: string;
                            /** Format: date-time */
                            created_at: string;
                            /** Format: date-time */
                            updated_at: string;
                            created_by: string | null;
                        }[];
                        required: string[];
                        optional: string[];
                        missing: string[];
                        revision: string;
                    };
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    setSecret: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                projectId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
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
                    "application/json": {
                        name: string;
                        /** Format: date-time */
                        created_at: string;
                        /** Format: date-time */
                        updated_at: string;
                        created_by: string | null;
                    };
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    abortSession: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                projectId: string;
                sessionId: string;
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
                    };
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    listSessions: {
        parameters: {
            query?: {
                limit?: number;
                cursor?: string;
                status?: "queued" | "branching" | "provisioning" | "running" | "stopped" | "failed" | "completed" | "all";
                include?: "activity";
            };
            header?: never;
            path: {
                projectId: string;
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
                        last_turn_error: {
                            code: string;
                            message: string;
                            /** Format: date-time */
                            at: string;
                        } | null;
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
                        parent_session_id: string | null;
                        metadata: {
                            [key: string]: unknown;
                        };
                        /** Format: date-time */
                        created_at: string;
                        /** Format: date-time */
                        updated_at: string;
                        /** Format: date-time */
                        last_active_at: string;
                        is_busy?: boolean;
                        waiting_for: "person" | null;
                    }[];
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    createSession: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
            };
            path: {
                projectId: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    name?: string;
                    agent_name?: string;
                    base_ref?: string;
                    initial_prompt?: string;
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
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
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
                        last_turn_error: {
                            code: string;
                            message: string;
                            /** Format: date-time */
                            at: string;
                        } | null;
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
                        parent_session_id: string | null;
                        metadata: {
                            [key: string]: unknown;
                        };
                        /** Format: date-time */
                        created_at: string;
                        /** Format: date-time */
                        updated_at: string;
                        /** Format: date-time */
                        last_active_at: string;
                        is_busy?: boolean;
                        waiting_for: "person" | null;
                    };
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getSession: {
        parameters: {
            query?: {
                include?: "activity";
            };
            header?: never;
            path: {
                projectId: string;
                sessionId: string;
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
                        last_turn_error: {
                            code: string;
                            message: string;
                            /** Format: date-time */
                            at: string;
                        } | null;
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
                        parent_session_id: string | null;
                        metadata: {
                            [key: string]: unknown;
                        };
                        /** Format: date-time */
                        created_at: string;
                        /** Format: date-time */
                        updated_at: string;
                        /** Format: date-time */
                        last_active_at: string;
                        is_busy?: boolean;
                        waiting_for: "person" | null;
                    };
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    deleteSession: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                projectId: string;
                sessionId: string;
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
                    };
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    updateSession: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                projectId: string;
                sessionId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
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
                    "application/json": {
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
                        last_turn_error: {
                            code: string;
                            message: string;
                            /** Format: date-time */
                            at: string;
                        } | null;
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
                        parent_session_id: string | null;
                        metadata: {
                            [key: string]: unknown;
                        };
                        /** Format: date-time */
                        created_at: string;
                        /** Format: date-time */
                        updated_at: string;
                        /** Format: date-time */
                        last_active_at: string;
                        is_busy?: boolean;
                        waiting_for: "person" | null;
                    };
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getTimeline: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                projectId: string;
                sessionId: string;
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
                        phases: {
                            name: string;
                            /** Format: date-time */
                            started_at: string;
                            ms: number | null;
                            error: string | null;
                        }[];
                    };
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getTranscript: {
        parameters: {
            query?: {
                limit?: number;
                cursor?: string;
                from?: "start" | "end";
            };
            header?: never;
            path: {
                projectId: string;
                sessionId: string;
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
                        messages: {
                            message_id: string;
                            /** @enum {string} */
                            role: "user" | "assistant";
                            /** Format: date-time */
                            created_at: string;
                            completed_at: string | null;
                            error: string | null;
                            parts: ({
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
                            })[];
                        }[];
                    };
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    listPrompts: {
        parameters: {
            query?: {
                limit?: number;
                cursor?: string;
            };
            header?: never;
            path: {
                projectId: string;
                sessionId: string;
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
                        prompts: {
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
                            settled_at: string | null;
                            attachments: Record<string, never>[];
                        }[];
                    };
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    promptSession: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
            };
            path: {
                projectId: string;
                sessionId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    text: string;
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
                    "application/json": {
                        /** Format: uuid */
                        prompt_id: string;
                        /** @enum {string} */
                        status: "accepted" | "delivered" | "failed";
                        error?: {
                            code: string;
                            message: string;
                        };
                    };
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    restartSession: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                projectId: string;
                sessionId: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
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
                    "application/json": {
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
                        last_turn_error: {
                            code: string;
                            message: string;
                            /** Format: date-time */
                            at: string;
                        } | null;
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
                        parent_session_id: string | null;
                        metadata: {
                            [key: string]: unknown;
                        };
                        /** Format: date-time */
                        created_at: string;
                        /** Format: date-time */
                        updated_at: string;
                        /** Format: date-time */
                        last_active_at: string;
                        is_busy?: boolean;
                        waiting_for: "person" | null;
                    };
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    stopSession: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                projectId: string;
                sessionId: string;
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
                        last_turn_error: {
                            code: string;
                            message: string;
                            /** Format: date-time */
                            at: string;
                        } | null;
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
                        parent_session_id: string | null;
                        metadata: {
                            [key: string]: unknown;
                        };
                        /** Format: date-time */
                        created_at: string;
                        /** Format: date-time */
                        updated_at: string;
                        /** Format: date-time */
                        last_active_at: string;
                        is_busy?: boolean;
                        waiting_for: "person" | null;
                    };
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    streamSessionEvents: {
        parameters: {
            query?: {
                messages?: number;
            };
            header?: never;
            path: {
                projectId: string;
                sessionId: string;
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
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
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
                    "application/json": {
                        /** @enum {string} */
                        source: "environment" | "saved" | "none";
                        url: string | null;
                        /** @enum {string} */
                        shape: "openai" | "anthropic";
                        models: string[];
                        has_key: boolean;
                        updated_at: string | null;
                    };
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
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
                    key?: string | null;
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
                    "application/json": {
                        /** @enum {string} */
                        source: "environment" | "saved" | "none";
                        url: string | null;
                        /** @enum {string} */
                        shape: "openai" | "anthropic";
                        models: string[];
                        has_key: boolean;
                        updated_at: string | null;
                    };
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
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
                    "application/json": {
                        /** @constant */
                        ok: true;
                    };
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    listModels: {
        parameters: {
            query?: {
                limit?: number;
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
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        models: {
                            id: string;
                            name: string;
                            default: boolean;
                        }[];
                    };
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    answerQuestion: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                projectId: string;
                sessionId: string;
                questionId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
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
                    "application/json": {
                        /** Format: uuid */
                        question_id: string;
                        /** @enum {string} */
                        kind: "permission" | "question" | "connector";
                        title: string;
                        detail: string;
                        options: {
                            value: string;
                            label: string;
                        }[];
                        /** @enum {string} */
                        status: "open" | "answered" | "expired";
                        answer: string | null;
                        /** Format: date-time */
                        asked_at: string;
                        answered_by: string | null;
                        reason: string | null;
                    };
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    listQuestions: {
        parameters: {
            query?: {
                limit?: number;
                cursor?: string;
                status?: "open" | "answered" | "expired" | "all";
            };
            header?: never;
            path: {
                projectId: string;
                sessionId: string;
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
                        questions: {
                            /** Format: uuid */
                            question_id: string;
                            /** @enum {string} */
                            kind: "permission" | "question" | "connector";
                            title: string;
                            detail: string;
                            options: {
                                value: string;
                                label: string;
                            }[];
                            /** @enum {string} */
                            status: "open" | "answered" | "expired";
                            answer: string | null;
                            /** Format: date-time */
                            asked_at: string;
                            answered_by: string | null;
                            reason: string | null;
                        }[];
                    };
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    accountUsage: {
        parameters: {
            query?: {
                days?: number;
            };
            header?: never;
            path: {
                accountId: string;
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
                        /** Format: date */
                        from: string;
                        /** Format: date */
                        to: string;
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
                        sandboxes: {
                            /** Format: uuid */
                            project_id: string;
                            /** Format: uuid */
                            session_id: string;
                            seconds: number;
                        }[];
                        sessions: {
                            /** Format: uuid */
                            project_id: string;
                            /** Format: uuid */
                            session_id: string;
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
                        caps: {
                            /** @enum {string} */
                            scope: "session" | "project" | "account";
                            tokens: number;
                            tokens_taken: number;
                        }[];
                    };
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    capAccountUsage: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                accountId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
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
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    projectUsage: {
        parameters: {
            query?: {
                days?: number;
            };
            header?: never;
            path: {
                projectId: string;
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
                        /** Format: date */
                        from: string;
                        /** Format: date */
                        to: string;
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
                        sandboxes: {
                            /** Format: uuid */
                            project_id: string;
                            /** Format: uuid */
                            session_id: string;
                            seconds: number;
                        }[];
                        sessions: {
                            /** Format: uuid */
                            project_id: string;
                            /** Format: uuid */
                            session_id: string;
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
                        caps: {
                            /** @enum {string} */
                            scope: "session" | "project" | "account";
                            tokens: number;
                            tokens_taken: number;
                        }[];
                        storage: {
                            repository_bytes: number;
                            unfinished_work_bytes: number;
                            transcript_bytes: number;
                            check_log_bytes: number;
                            limit_bytes: number;
                            sessions_limit_bytes: number;
                        };
                    };
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    sessionUsage: {
        parameters: {
            query?: {
                days?: number;
            };
            header?: never;
            path: {
                projectId: string;
                sessionId: string;
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
                        /** Format: date */
                        from: string;
                        /** Format: date */
                        to: string;
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
                        sandboxes: {
                            /** Format: uuid */
                            project_id: string;
                            /** Format: uuid */
                            session_id: string;
                            seconds: number;
                        }[];
                        sessions: {
                            /** Format: uuid */
                            project_id: string;
                            /** Format: uuid */
                            session_id: string;
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
                        caps: {
                            /** @enum {string} */
                            scope: "session" | "project" | "account";
                            tokens: number;
                            tokens_taken: number;
                        }[];
                    };
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    bundleUnfinishedWork: {
        parameters: {
            query?: {
                have?: string;
                generation?: number;
            };
            header?: never;
            path: {
                projectId: string;
                sessionId: string;
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
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getUnfinishedWork: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                projectId: string;
                sessionId: string;
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
                        saved_at: string | null;
                        commit: string | null;
                        base: string | null;
                        files: number;
                        paths: string[];
                        unpushed_commits: number;
                        notes: string[];
                        generation: number | null;
                        earlier: {
                            generation: number;
                            /** Format: date-time */
                            saved_at: string;
                            commit: string;
                            base: string | null;
                            files: number;
                            paths: string[];
                            unpushed_commits: number;
                            notes: string[];
                        }[];
                    };
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    saveUnfinishedWork: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                projectId: string;
                sessionId: string;
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
                        saved_at: string | null;
                        commit: string | null;
                        base: string | null;
                        files: number;
                        paths: string[];
                        unpushed_commits: number;
                        notes: string[];
                        generation: number | null;
                        earlier: {
                            generation: number;
                            /** Format: date-time */
                            saved_at: string;
                            commit: string;
                            base: string | null;
                            files: number;
                            paths: string[];
                            unpushed_commits: number;
                            notes: string[];
                        }[];
                    };
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    listUnfinishedWork: {
        parameters: {
            query?: {
                limit?: number;
                cursor?: string;
            };
            header?: never;
            path: {
                projectId: string;
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
                        session_id: string;
                        /** Format: date-time */
                        saved_at: string;
                        files: number;
                        unpushed_commits: number;
                    }[];
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    recoverUnfinishedWork: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                projectId: string;
                sessionId: string;
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
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    settleUnfinishedWork: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                projectId: string;
                sessionId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
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
                    "application/json": {
                        /** @constant */
                        ok: true;
                    };
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getPreview: {
        parameters: {
            query?: {
                port?: number;
            };
            header?: never;
            path: {
                projectId: string;
                sessionId: string;
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
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    closeChangeRequest: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                projectId: string;
                crId: string;
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
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    diffChangeRequest: {
        parameters: {
            query?: {
                renames?: "0" | "1";
                ignore_whitespace?: "0" | "1";
                since?: string;
            };
            header?: never;
            path: {
                projectId: string;
                crId: string;
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
                        cr_id: string;
                        base_ref: string;
                        head_ref: string;
                        base_sha: string;
                        head_sha: string;
                        merge_base: string | null;
                        files: {
                            path: string;
                            old_path: string | null;
                            /** @enum {string} */
                            status: "added" | "modified" | "deleted" | "renamed";
                            additions: number;
                            deletions: number;
                            binary: boolean;
                        }[];
                        files_changed: number;
                        additions: number;
                        deletions: number;
                        patch: string;
                        truncated: boolean;
                        whitespace_only?: string[];
                        since?: {
                            sha: string;
                            rewritten: boolean;
                            base_moved: boolean;
                            conflicts: string[];
                        };
                    };
                    "text/x-diff": string;
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getChangeRequest: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                projectId: string;
                crId: string;
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
                        change_request: {
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
                    };
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    editChangeRequest: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                projectId: string;
                crId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
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
                    "application/json": {
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
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getPullRequest: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                projectId: string;
                crId: string;
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
                        protection: {
                            branch: string;
                            reason: string;
                            /** @enum {string} */
                            found_by: "api" | "push";
                            /** Format: date-time */
                            found_at: string;
                        } | null;
                        can_open: boolean;
                        pull_request: {
                            number: number;
                            url: string;
                            /** Format: date-time */
                            created_at: string;
                        } | null;
                    };
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    openPullRequest: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
            };
            path: {
                projectId: string;
                crId: string;
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
                        protection: {
                            branch: string;
                            reason: string;
                            /** @enum {string} */
                            found_by: "api" | "push";
                            /** Format: date-time */
                            found_at: string;
                        } | null;
                        can_open: boolean;
                        pull_request: {
                            number: number;
                            url: string;
                            /** Format: date-time */
                            created_at: string;
                        } | null;
                    };
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    listChangeRequests: {
        parameters: {
            query?: {
                limit?: number;
                cursor?: string;
                status?: "open" | "merged" | "closed" | "all";
                number?: number;
                head_ref?: string;
                base_ref?: string;
                created_by?: string;
                search?: string;
            };
            header?: never;
            path: {
                projectId: string;
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
                        change_requests: {
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
                        }[];
                    };
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    openChangeRequest: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
            };
            path: {
                projectId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
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
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
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
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    mergeChangeRequest: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
            };
            path: {
                projectId: string;
                crId: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
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
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        change_request: {
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
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    previewChangeRequest: {
        parameters: {
            query?: {
                include?: string;
            };
            header?: never;
            path: {
                projectId: string;
                crId: string;
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
                        collisions?: {
                            number: number;
                            files: string[];
                        }[];
                        collisions_truncated?: boolean;
                        effects?: {
                            applies: boolean;
                            triggers: {
                                slug: string;
                                /** @enum {string} */
                                change: "added" | "changed" | "removed" | "enabled" | "disabled";
                            }[];
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
                            settings: string[];
                            secrets_added: string[];
                            secrets_missing: string[];
                            manifest_issues: {
                                path: string;
                                message: string;
                                /** @enum {string} */
                                severity: "error" | "warning";
                                line: number | null;
                                column: number | null;
                            }[];
                            words: string[];
                        };
                    };
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    reopenChangeRequest: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                projectId: string;
                crId: string;
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
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    verifyChangeRequest: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                projectId: string;
                crId: string;
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
                        reason?: string;
                    };
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getChecks: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                projectId: string;
                crId: string;
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
                        /** @enum {string} */
                        state: "none" | "not_run" | "running" | "failed" | "passed";
                        reason: string | null;
                        base_sha: string | null;
                        head_sha: string | null;
                        tree_sha: string | null;
                        checks: {
                            name: string;
                            command: string;
                            /** @enum {string} */
                            status: "queued" | "running" | "passed" | "failed" | "error" | "cancelled";
                            run_id: string | null;
                            attempt: number;
                            exit_code: number | null;
                            reason: string | null;
                            created_at: string | null;
                            started_at: string | null;
                            ended_at: string | null;
                        }[];
                    };
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    readCheckLog: {
        parameters: {
            query?: {
                lines?: number;
            };
            header?: never;
            path: {
                projectId: string;
                crId: string;
                runId: string;
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
                        check: {
                            name: string;
                            command: string;
                            /** @enum {string} */
                            status: "queued" | "running" | "passed" | "failed" | "error" | "cancelled";
                            run_id: string | null;
                            attempt: number;
                            exit_code: number | null;
                            reason: string | null;
                            created_at: string | null;
                            started_at: string | null;
                            ended_at: string | null;
                        };
                        lines: {
                            /** Format: date-time */
                            at: string;
                            /** @enum {string} */
                            stream: "output" | "svc";
                            text: string;
                        }[];
                        truncated: boolean;
                    };
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    rerunChecks: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                projectId: string;
                crId: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
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
                    "application/json": {
                        /** @enum {string} */
                        state: "none" | "not_run" | "running" | "failed" | "passed";
                        reason: string | null;
                        base_sha: string | null;
                        head_sha: string | null;
                        tree_sha: string | null;
                        checks: {
                            name: string;
                            command: string;
                            /** @enum {string} */
                            status: "queued" | "running" | "passed" | "failed" | "error" | "cancelled";
                            run_id: string | null;
                            attempt: number;
                            exit_code: number | null;
                            reason: string | null;
                            created_at: string | null;
                            started_at: string | null;
                            ended_at: string | null;
                        }[];
                    };
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    listReviews: {
        parameters: {
            query?: {
                limit?: number;
                cursor?: string;
            };
            header?: never;
            path: {
                projectId: string;
                crId: string;
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
                        reviews: {
                            /** Format: uuid */
                            review_id: string;
                            /** Format: uuid */
                            cr_id: string;
                            head_sha: string;
                            body: string;
                            comments: {
                                path: string;
                                /** @enum {string} */
                                side: "old" | "new";
                                line: number;
                                /** @default null */
                                start_line: number | null;
                                /** @default  */
                                quote: string;
                                text: string;
                            }[];
                            created_by: string | null;
                            created_by_name: string | null;
                            session_id: string | null;
                            /** Format: date-time */
                            created_at: string;
                            answer: {
                                head_sha: string;
                                /** Format: date-time */
                                seen_at: string;
                            } | null;
                        }[];
                    };
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    createReview: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
            };
            path: {
                projectId: string;
                crId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    head_sha: string;
                    /** @default  */
                    body?: string;
                    /** @default [] */
                    comments?: {
                        path: string;
                        /** @enum {string} */
                        side: "old" | "new";
                        line: number;
                        /** @default null */
                        start_line?: number | null;
                        /** @default  */
                        quote?: string;
                        text: string;
                    }[];
                    /** @default true */
                    send?: boolean;
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
                        /** Format: uuid */
                        review_id: string;
                        /** Format: uuid */
                        cr_id: string;
                        head_sha: string;
                        body: string;
                        comments: {
                            path: string;
                            /** @enum {string} */
                            side: "old" | "new";
                            line: number;
                            /** @default null */
                            start_line: number | null;
                            /** @default  */
                            quote: string;
                            text: string;
                        }[];
                        created_by: string | null;
                        created_by_name: string | null;
                        session_id: string | null;
                        /** Format: date-time */
                        created_at: string;
                        answer: {
                            head_sha: string;
                            /** Format: date-time */
                            seen_at: string;
                        } | null;
                    };
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    disableTrigger: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
            };
            path: {
                projectId: string;
                slug: string;
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
                        change_request: {
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
                        } | null;
                        merged: boolean;
                    };
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    enableTrigger: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
            };
            path: {
                projectId: string;
                slug: string;
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
                        change_request: {
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
                        } | null;
                        merged: boolean;
                    };
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    fireTrigger: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
            };
            path: {
                projectId: string;
                slug: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    message?: string;
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
                    "application/json": {
                        /** Format: uuid */
                        session_id: string;
                    };
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getTrigger: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                projectId: string;
                slug: string;
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
                        type: "cron" | "webhook";
                        enabled: boolean;
                        cron: string | null;
                        timezone: string;
                        run_at: string | null;
                        agent: string | null;
                        model: string | null;
                        prompt: string;
                        secret_env: string | null;
                        last_fired_at: string | null;
                        next_fire_at: string | null;
                        webhook_url: string | null;
                        slots: {
                            /** Format: uuid */
                            slot_id: string;
                            /** @enum {string} */
                            kind: "cron" | "webhook" | "manual";
                            /** Format: date-time */
                            due_at: string;
                            /** @enum {string} */
                            status: "claimed" | "fired" | "skipped" | "failed";
                            fired_at: string | null;
                            session_id: string | null;
                            reason: string | null;
                            caught_up: boolean;
                            /** Format: date-time */
                            created_at: string;
                        }[];
                    };
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    listTriggers: {
        parameters: {
            query?: {
                limit?: number;
                cursor?: string;
            };
            header?: never;
            path: {
                projectId: string;
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
                        triggers: {
                            slug: string;
                            /** @enum {string} */
                            type: "cron" | "webhook";
                            enabled: boolean;
                            cron: string | null;
                            timezone: string;
                            run_at: string | null;
                            agent: string | null;
                            model: string | null;
                            prompt: string;
                            secret_env: string | null;
                            last_fired_at: string | null;
                            next_fire_at: string | null;
                            webhook_url: string | null;
                        }[];
                        errors: {
                            path: string;
                            message: string;
                            /** @enum {string} */
                            severity: "error" | "warning";
                            line: number | null;
                            column: number | null;
                        }[];
                    };
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    streamProjectEvents: {
        parameters: {
            query?: {
                after?: number;
                limit?: number;
            };
            header?: never;
            path: {
                projectId: string;
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
                        events: ({
                            id: number;
                            /** Format: uuid */
                            project_id: string;
                            /** Format: date-time */
                            created_at: string;
                            actor: {
                                /** Format: uuid */
                                user_id: string;
                                session_id: string | null;
                            } | null;
                            /** @enum {string} */
                            type: "change_request.opened" | "change_request.updated" | "change_request.conflicted" | "change_request.clean" | "change_request.reviewed" | "change_request.merged" | "change_request.closed" | "change_request.reopened";
                            data: {
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
                                changed?: string[];
                                conflicts?: string[];
                                review?: {
                                    /** Format: uuid */
                                    review_id: string;
                                    comments: number;
                                    session_id: string | null;
                                };
                            };
                        } | {
                            id: number;
                            /** Format: uuid */
                            project_id: string;
                            /** Format: date-time */
                            created_at: string;
                            actor: {
                                /** Format: uuid */
                                user_id: string;
                                session_id: string | null;
                            } | null;
                            /** @enum {string} */
                            type: "session.provisioning" | "session.running" | "session.turn_ended" | "session.stopped" | "session.failed" | "session.deleted" | "session.question_asked" | "session.question_answered";
                            data: {
                                /** Format: uuid */
                                session_id: string;
                                name: string;
                                agent_name: string;
                                branch_name: string;
                                generation: number;
                                reason: string | null;
                                question?: {
                                    /** Format: uuid */
                                    question_id: string;
                                    /** @enum {string} */
                                    kind: "permission" | "question" | "connector";
                                    title: string;
                                    /** @enum {string} */
                                    status: "open" | "answered" | "expired";
                                };
                            };
                        } | {
                            id: number;
                            /** Format: uuid */
                            project_id: string;
                            /** Format: date-time */
                            created_at: string;
                            actor: {
                                /** Format: uuid */
                                user_id: string;
                                session_id: string | null;
                            } | null;
                            /** @enum {string} */
                            type: "trigger.fired" | "trigger.missed";
                            data: {
                                slug: string;
                                /** Format: uuid */
                                slot_id: string;
                                /** @enum {string} */
                                kind: "cron" | "webhook" | "manual";
                                /** Format: date-time */
                                due_at: string;
                                session_id: string | null;
                                reason: string | null;
                            };
                        } | {
                            id: number;
                            /** Format: uuid */
                            project_id: string;
                            /** Format: date-time */
                            created_at: string;
                            actor: {
                                /** Format: uuid */
                                user_id: string;
                                session_id: string | null;
                            } | null;
                            /** @enum {string} */
                            type: "deploy.started" | "deploy.live" | "deploy.failed" | "deploy.stopped";
                            data: {
                                app: string;
                                /** Format: uuid */
                                deploy_id: string;
                                commit_sha: string | null;
                                url: string | null;
                                reason: string | null;
                            };
                        } | {
                            id: number;
                            /** Format: uuid */
                            project_id: string;
                            /** Format: date-time */
                            created_at: string;
                            actor: {
                                /** Format: uuid */
                                user_id: string;
                                session_id: string | null;
                            } | null;
                            /** @enum {string} */
                            type: "check.started" | "check.finished";
                            data: {
                                /** Format: uuid */
                                cr_id: string;
                                number: number;
                                check: string;
                                /** Format: uuid */
                                run_id: string;
                                attempt: number;
                                /** @enum {string} */
                                status: "queued" | "running" | "passed" | "failed" | "error" | "cancelled";
                                tree_sha: string;
                                reason: string | null;
                            };
                        } | {
                            id: number;
                            /** Format: uuid */
                            project_id: string;
                            /** Format: date-time */
                            created_at: string;
                            actor: {
                                /** Format: uuid */
                                user_id: string;
                                session_id: string | null;
                            } | null;
                            /** @constant */
                            type: "default_branch.moved";
                            data: {
                                branch: string;
                                before: string | null;
                                sha: string | null;
                            };
                        })[];
                        last: number;
                        forgotten: number;
                    };
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
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
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    listChannels: {
        parameters: {
            query?: {
                limit?: number;
                cursor?: string;
            };
            header?: never;
            path: {
                projectId: string;
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
                        channels: {
                            /** Format: uuid */
                            channel_id: string;
                            /** @enum {string} */
                            platform: "slack";
                            workspace_id: string;
                            workspace_name: string;
                            bot_name: string;
                            conversation_id: string;
                            conversation_name: string;
                            shared_externally: boolean;
                            allow_unlinked: boolean;
                            agent: string | null;
                            events: string[];
                            error: string | null;
                            waiting: number;
                            connected_by: string | null;
                            /** Format: date-time */
                            created_at: string;
                            /** Format: date-time */
                            updated_at: string;
                        }[];
                        setup: {
                            /** @enum {string} */
                            platform: "slack";
                            events_url: string;
                            interactions_url: string;
                            app_manifest: {
                                [key: string]: unknown;
                            };
                            warning: string | null;
                        }[];
                        errors: {
                            path: string;
                            message: string;
                            /** @enum {string} */
                            severity: "error" | "warning";
                            line: number | null;
                            column: number | null;
                        }[];
                    };
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    connectChannel: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                projectId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /**
                     * @default slack
                     * @enum {string}
                     */
                    platform?: "slack";
                    bot_token: string;
                    signing_secret: string;
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
                    "application/json": {
                        /** Format: uuid */
                        channel_id: string;
                        /** @enum {string} */
                        platform: "slack";
                        workspace_id: string;
                        workspace_name: string;
                        bot_name: string;
                        conversation_id: string;
                        conversation_name: string;
                        shared_externally: boolean;
                        allow_unlinked: boolean;
                        agent: string | null;
                        events: string[];
                        error: string | null;
                        waiting: number;
                        connected_by: string | null;
                        /** Format: date-time */
                        created_at: string;
                        /** Format: date-time */
                        updated_at: string;
                    };
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getChannel: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                projectId: string;
                channelId: string;
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
                        bot_name: string;
                        conversation_id: string;
                        conversation_name: string;
                        shared_externally: boolean;
                        allow_unlinked: boolean;
                        agent: string | null;
                        events: string[];
                        error: string | null;
                        waiting: number;
                        connected_by: string | null;
                        /** Format: date-time */
                        created_at: string;
                        /** Format: date-time */
                        updated_at: string;
                        threads: {
                            session_id: string | null;
                            started_by: string | null;
                            author: string;
                            /** Format: date-time */
                            created_at: string;
                        }[];
                        deliveries: {
                            /** @enum {string} */
                            kind: "answer" | "state" | "card" | "reply";
                            /** @enum {string} */
                            status: "waiting" | "sent" | "failed";
                            attempts: number;
                            error: string | null;
                            /** Format: date-time */
                            updated_at: string;
                            sent_at: string | null;
                        }[];
                        links: {
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
                        }[];
                    };
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    disconnectChannel: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                projectId: string;
                channelId: string;
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
                    };
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    editChannel: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                projectId: string;
                channelId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
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
                    "application/json": {
                        /** Format: uuid */
                        channel_id: string;
                        /** @enum {string} */
                        platform: "slack";
                        workspace_id: string;
                        workspace_name: string;
                        bot_name: string;
                        conversation_id: string;
                        conversation_name: string;
                        shared_externally: boolean;
                        allow_unlinked: boolean;
                        agent: string | null;
                        events: string[];
                        error: string | null;
                        waiting: number;
                        connected_by: string | null;
                        /** Format: date-time */
                        created_at: string;
                        /** Format: date-time */
                        updated_at: string;
                    };
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    listChannelLinks: {
        parameters: {
            query?: {
                limit?: number;
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
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
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
                    }[];
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
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
                    "application/json": {
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
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    testChannel: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                projectId: string;
                channelId: string;
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
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    unlinkChatUser: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                linkId: string;
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
                    };
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    listWebhooks: {
        parameters: {
            query?: {
                limit?: number;
                cursor?: string;
            };
            header?: never;
            path: {
                projectId: string;
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
                        webhooks: {
                            /** Format: uuid */
                            webhook_id: string;
                            /** Format: uuid */
                            project_id: string;
                            url: string;
                            events: string[];
                            /** @enum {string} */
                            state: "active" | "retrying" | "paused";
                            reason: string | null;
                            last_event: number;
                            attempts: number;
                            next_attempt_at: string | null;
                            created_by: string | null;
                            /** Format: date-time */
                            created_at: string;
                            /** Format: date-time */
                            updated_at: string;
                        }[];
                    };
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    createWebhook: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
            };
            path: {
                projectId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
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
                        /** @enum {string} */
                        state: "active" | "retrying" | "paused";
                        reason: string | null;
                        last_event: number;
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
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    deleteWebhook: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                projectId: string;
                webhookId: string;
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
                    };
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    updateWebhook: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                projectId: string;
                webhookId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    url?: string;
                    events?: string[];
                    paused?: boolean;
                    from_now?: boolean;
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
                        /** @enum {string} */
                        state: "active" | "retrying" | "paused";
                        reason: string | null;
                        last_event: number;
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
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    listDeliveries: {
        parameters: {
            query?: {
                limit?: number;
                cursor?: string;
            };
            header?: never;
            path: {
                projectId: string;
                webhookId: string;
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
                        deliveries: {
                            /** Format: uuid */
                            delivery_id: string;
                            event_id: number | null;
                            event_type: string;
                            /** @enum {string} */
                            status: "waiting" | "delivered" | "failed";
                            attempts: number;
                            http_status: number | null;
                            error: string | null;
                            answer: string | null;
                            ms: number | null;
                            /** Format: date-time */
                            created_at: string;
                            last_attempt_at: string | null;
                        }[];
                    };
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    pingWebhook: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
            };
            path: {
                projectId: string;
                webhookId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** Format: uuid */
                        delivery_id: string;
                        event_id: number | null;
                        event_type: string;
                        /** @enum {string} */
                        status: "waiting" | "delivered" | "failed";
                        attempts: number;
                        http_status: number | null;
                        error: string | null;
                        answer: string | null;
                        ms: number | null;
                        /** Format: date-time */
                        created_at: string;
                        last_attempt_at: string | null;
                    };
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    redeliver: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
            };
            path: {
                projectId: string;
                webhookId: string;
                deliveryId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** Format: uuid */
                        delivery_id: string;
                        event_id: number | null;
                        event_type: string;
                        /** @enum {string} */
                        status: "waiting" | "delivered" | "failed";
                        attempts: number;
                        http_status: number | null;
                        error: string | null;
                        answer: string | null;
                        ms: number | null;
                        /** Format: date-time */
                        created_at: string;
                        last_attempt_at: string | null;
                    };
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    deployApp: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
            };
            path: {
                projectId: string;
                slug: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        app: {
                            slug: string;
                            /** @enum {string} */
                            state: "running" | "restarting" | "deploying" | "stopped" | "failed" | "disabled" | "off" | "waiting";
                            url: string;
                            enabled: boolean;
                            reason: string | null;
                            command: string | null;
                            static_dir: string | null;
                            build: string | null;
                            port: number;
                            secrets: string[];
                            live: {
                                /** Format: uuid */
                                deploy_id: string;
                                number: number;
                                /** @enum {string} */
                                status: "queued" | "building" | "starting" | "running" | "restarting" | "replaced" | "stopped" | "failed" | "cancelled";
                                hash: string;
                                commit_sha: string;
                                /** @enum {string} */
                                cause: "default_branch" | "request" | "rollback";
                                rollback_of: number | null;
                                error: string | null;
                                created_by: string | null;
                                /** Format: date-time */
                                created_at: string;
                                ready_at: string | null;
                                ended_at: string | null;
                            } | null;
                            next: {
                                /** Format: uuid */
                                deploy_id: string;
                                number: number;
                                /** @enum {string} */
                                status: "queued" | "building" | "starting" | "running" | "restarting" | "replaced" | "stopped" | "failed" | "cancelled";
                                hash: string;
                                commit_sha: string;
                                /** @enum {string} */
                                cause: "default_branch" | "request" | "rollback";
                                rollback_of: number | null;
                                error: string | null;
                                created_by: string | null;
                                /** Format: date-time */
                                created_at: string;
                                ready_at: string | null;
                                ended_at: string | null;
                            } | null;
                            deploys: {
                                /** Format: uuid */
                                deploy_id: string;
                                number: number;
                                /** @enum {string} */
                                status: "queued" | "building" | "starting" | "running" | "restarting" | "replaced" | "stopped" | "failed" | "cancelled";
                                hash: string;
                                commit_sha: string;
                                /** @enum {string} */
                                cause: "default_branch" | "request" | "rollback";
                                rollback_of: number | null;
                                error: string | null;
                                created_by: string | null;
                                /** Format: date-time */
                                created_at: string;
                                ready_at: string | null;
                                ended_at: string | null;
                            }[];
                        };
                        deploy: {
                            /** Format: uuid */
                            deploy_id: string;
                            number: number;
                            /** @enum {string} */
                            status: "queued" | "building" | "starting" | "running" | "restarting" | "replaced" | "stopped" | "failed" | "cancelled";
                            hash: string;
                            commit_sha: string;
                            /** @enum {string} */
                            cause: "default_branch" | "request" | "rollback";
                            rollback_of: number | null;
                            error: string | null;
                            created_by: string | null;
                            /** Format: date-time */
                            created_at: string;
                            ready_at: string | null;
                            ended_at: string | null;
                        };
                    };
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getApp: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                projectId: string;
                slug: string;
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
                        state: "running" | "restarting" | "deploying" | "stopped" | "failed" | "disabled" | "off" | "waiting";
                        url: string;
                        enabled: boolean;
                        reason: string | null;
                        command: string | null;
                        static_dir: string | null;
                        build: string | null;
                        port: number;
                        secrets: string[];
                        live: {
                            /** Format: uuid */
                            deploy_id: string;
                            number: number;
                            /** @enum {string} */
                            status: "queued" | "building" | "starting" | "running" | "restarting" | "replaced" | "stopped" | "failed" | "cancelled";
                            hash: string;
                            commit_sha: string;
                            /** @enum {string} */
                            cause: "default_branch" | "request" | "rollback";
                            rollback_of: number | null;
                            error: string | null;
                            created_by: string | null;
                            /** Format: date-time */
                            created_at: string;
                            ready_at: string | null;
                            ended_at: string | null;
                        } | null;
                        next: {
                            /** Format: uuid */
                            deploy_id: string;
                            number: number;
                            /** @enum {string} */
                            status: "queued" | "building" | "starting" | "running" | "restarting" | "replaced" | "stopped" | "failed" | "cancelled";
                            hash: string;
                            commit_sha: string;
                            /** @enum {string} */
                            cause: "default_branch" | "request" | "rollback";
                            rollback_of: number | null;
                            error: string | null;
                            created_by: string | null;
                            /** Format: date-time */
                            created_at: string;
                            ready_at: string | null;
                            ended_at: string | null;
                        } | null;
                        deploys: {
                            /** Format: uuid */
                            deploy_id: string;
                            number: number;
                            /** @enum {string} */
                            status: "queued" | "building" | "starting" | "running" | "restarting" | "replaced" | "stopped" | "failed" | "cancelled";
                            hash: string;
                            commit_sha: string;
                            /** @enum {string} */
                            cause: "default_branch" | "request" | "rollback";
                            rollback_of: number | null;
                            error: string | null;
                            created_by: string | null;
                            /** Format: date-time */
                            created_at: string;
                            ready_at: string | null;
                            ended_at: string | null;
                        }[];
                    };
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    listApps: {
        parameters: {
            query?: {
                limit?: number;
                cursor?: string;
            };
            header?: never;
            path: {
                projectId: string;
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
                        apps: {
                            slug: string;
                            /** @enum {string} */
                            state: "running" | "restarting" | "deploying" | "stopped" | "failed" | "disabled" | "off" | "waiting";
                            url: string;
                            enabled: boolean;
                            reason: string | null;
                            command: string | null;
                            static_dir: string | null;
                            build: string | null;
                            port: number;
                            secrets: string[];
                            live: {
                                /** Format: uuid */
                                deploy_id: string;
                                number: number;
                                /** @enum {string} */
                                status: "queued" | "building" | "starting" | "running" | "restarting" | "replaced" | "stopped" | "failed" | "cancelled";
                                hash: string;
                                commit_sha: string;
                                /** @enum {string} */
                                cause: "default_branch" | "request" | "rollback";
                                rollback_of: number | null;
                                error: string | null;
                                created_by: string | null;
                                /** Format: date-time */
                                created_at: string;
                                ready_at: string | null;
                                ended_at: string | null;
                            } | null;
                            next: {
                                /** Format: uuid */
                                deploy_id: string;
                                number: number;
                                /** @enum {string} */
                                status: "queued" | "building" | "starting" | "running" | "restarting" | "replaced" | "stopped" | "failed" | "cancelled";
                                hash: string;
                                commit_sha: string;
                                /** @enum {string} */
                                cause: "default_branch" | "request" | "rollback";
                                rollback_of: number | null;
                                error: string | null;
                                created_by: string | null;
                                /** Format: date-time */
                                created_at: string;
                                ready_at: string | null;
                                ended_at: string | null;
                            } | null;
                            deploys: {
                                /** Format: uuid */
                                deploy_id: string;
                                number: number;
                                /** @enum {string} */
                                status: "queued" | "building" | "starting" | "running" | "restarting" | "replaced" | "stopped" | "failed" | "cancelled";
                                hash: string;
                                commit_sha: string;
                                /** @enum {string} */
                                cause: "default_branch" | "request" | "rollback";
                                rollback_of: number | null;
                                error: string | null;
                                created_by: string | null;
                                /** Format: date-time */
                                created_at: string;
                                ready_at: string | null;
                                ended_at: string | null;
                            }[];
                        }[];
                        errors: {
                            path: string;
                            message: string;
                            /** @enum {string} */
                            severity: "error" | "warning";
                            line: number | null;
                            column: number | null;
                        }[];
                        /** @enum {string} */
                        provider: "local" | "none";
                    };
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    openApp: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                projectId: string;
                slug: string;
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
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    readAppLogs: {
        parameters: {
            query?: {
                follow?: "0" | "1" | "true" | "false";
                deploy?: string;
                lines?: number;
            };
            header?: never;
            path: {
                projectId: string;
                slug: string;
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
                        deploy: {
                            /** Format: uuid */
                            deploy_id: string;
                            number: number;
                            /** @enum {string} */
                            status: "queued" | "building" | "starting" | "running" | "restarting" | "replaced" | "stopped" | "failed" | "cancelled";
                            hash: string;
                            commit_sha: string;
                            /** @enum {string} */
                            cause: "default_branch" | "request" | "rollback";
                            rollback_of: number | null;
                            error: string | null;
                            created_by: string | null;
                            /** Format: date-time */
                            created_at: string;
                            ready_at: string | null;
                            ended_at: string | null;
                        } | null;
                        lines: {
                            /** Format: date-time */
                            at: string;
                            /** @enum {string} */
                            stream: "build" | "run" | "svc";
                            text: string;
                        }[];
                        truncated: boolean;
                    };
                    "text/event-stream": {
                        event: string;
                        id?: string;
                        data: string;
                    };
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    rollbackApp: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
            };
            path: {
                projectId: string;
                slug: string;
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
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        app: {
                            slug: string;
                            /** @enum {string} */
                            state: "running" | "restarting" | "deploying" | "stopped" | "failed" | "disabled" | "off" | "waiting";
                            url: string;
                            enabled: boolean;
                            reason: string | null;
                            command: string | null;
                            static_dir: string | null;
                            build: string | null;
                            port: number;
                            secrets: string[];
                            live: {
                                /** Format: uuid */
                                deploy_id: string;
                                number: number;
                                /** @enum {string} */
                                status: "queued" | "building" | "starting" | "running" | "restarting" | "replaced" | "stopped" | "failed" | "cancelled";
                                hash: string;
                                commit_sha: string;
                                /** @enum {string} */
                                cause: "default_branch" | "request" | "rollback";
                                rollback_of: number | null;
                                error: string | null;
                                created_by: string | null;
                                /** Format: date-time */
                                created_at: string;
                                ready_at: string | null;
                                ended_at: string | null;
                            } | null;
                            next: {
                                /** Format: uuid */
                                deploy_id: string;
                                number: number;
                                /** @enum {string} */
                                status: "queued" | "building" | "starting" | "running" | "restarting" | "replaced" | "stopped" | "failed" | "cancelled";
                                hash: string;
                                commit_sha: string;
                                /** @enum {string} */
                                cause: "default_branch" | "request" | "rollback";
                                rollback_of: number | null;
                                error: string | null;
                                created_by: string | null;
                                /** Format: date-time */
                                created_at: string;
                                ready_at: string | null;
                                ended_at: string | null;
                            } | null;
                            deploys: {
                                /** Format: uuid */
                                deploy_id: string;
                                number: number;
                                /** @enum {string} */
                                status: "queued" | "building" | "starting" | "running" | "restarting" | "replaced" | "stopped" | "failed" | "cancelled";
                                hash: string;
                                commit_sha: string;
                                /** @enum {string} */
                                cause: "default_branch" | "request" | "rollback";
                                rollback_of: number | null;
                                error: string | null;
                                created_by: string | null;
                                /** Format: date-time */
                                created_at: string;
                                ready_at: string | null;
                                ended_at: string | null;
                            }[];
                        };
                        deploy: {
                            /** Format: uuid */
                            deploy_id: string;
                            number: number;
                            /** @enum {string} */
                            status: "queued" | "building" | "starting" | "running" | "restarting" | "replaced" | "stopped" | "failed" | "cancelled";
                            hash: string;
                            commit_sha: string;
                            /** @enum {string} */
                            cause: "default_branch" | "request" | "rollback";
                            rollback_of: number | null;
                            error: string | null;
                            created_by: string | null;
                            /** Format: date-time */
                            created_at: string;
                            ready_at: string | null;
                            ended_at: string | null;
                        };
                    };
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    stopApp: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                projectId: string;
                slug: string;
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
                        state: "running" | "restarting" | "deploying" | "stopped" | "failed" | "disabled" | "off" | "waiting";
                        url: string;
                        enabled: boolean;
                        reason: string | null;
                        command: string | null;
                        static_dir: string | null;
                        build: string | null;
                        port: number;
                        secrets: string[];
                        live: {
                            /** Format: uuid */
                            deploy_id: string;
                            number: number;
                            /** @enum {string} */
                            status: "queued" | "building" | "starting" | "running" | "restarting" | "replaced" | "stopped" | "failed" | "cancelled";
                            hash: string;
                            commit_sha: string;
                            /** @enum {string} */
                            cause: "default_branch" | "request" | "rollback";
                            rollback_of: number | null;
                            error: string | null;
                            created_by: string | null;
                            /** Format: date-time */
                            created_at: string;
                            ready_at: string | null;
                            ended_at: string | null;
                        } | null;
                        next: {
                            /** Format: uuid */
                            deploy_id: string;
                            number: number;
                            /** @enum {string} */
                            status: "queued" | "building" | "starting" | "running" | "restarting" | "replaced" | "stopped" | "failed" | "cancelled";
                            hash: string;
                            commit_sha: string;
                            /** @enum {string} */
                            cause: "default_branch" | "request" | "rollback";
                            rollback_of: number | null;
                            error: string | null;
                            created_by: string | null;
                            /** Format: date-time */
                            created_at: string;
                            ready_at: string | null;
                            ended_at: string | null;
                        } | null;
                        deploys: {
                            /** Format: uuid */
                            deploy_id: string;
                            number: number;
                            /** @enum {string} */
                            status: "queued" | "building" | "starting" | "running" | "restarting" | "replaced" | "stopped" | "failed" | "cancelled";
                            hash: string;
                            commit_sha: string;
                            /** @enum {string} */
                            cause: "default_branch" | "request" | "rollback";
                            rollback_of: number | null;
                            error: string | null;
                            created_by: string | null;
                            /** Format: date-time */
                            created_at: string;
                            ready_at: string | null;
                            ended_at: string | null;
                        }[];
                    };
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getHostWebhook: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                projectId: string;
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
                        secret: string | null;
                        last_call_at: string | null;
                        last_sender: string | null;
                    };
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    rotateHostWebhook: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
            };
            path: {
                projectId: string;
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
                        secret: string | null;
                        last_call_at: string | null;
                        last_sender: string | null;
                    };
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    checkConnector: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                projectId: string;
                slug: string;
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
                        /** @enum {string} */
                        status: "unchecked" | "ready" | "failed" | "off";
                        error: string | null;
                        hint: string | null;
                        checked_at: string | null;
                        policy: ("allow" | "ask" | "block") | null;
                        tools: {
                            name: string;
                            offered_as: string;
                            description: string;
                            read_only: boolean;
                            /** @enum {string} */
                            policy: "allow" | "ask" | "block";
                            decided: ("allow" | "ask" | "block") | null;
                        }[];
                    };
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    decideConnectorApproval: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                projectId: string;
                approvalId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @enum {string} */
                    decision: "approve" | "deny";
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
                    "application/json": {
                        /** Format: uuid */
                        approval_id: string;
                        session_id: string | null;
                        slug: string;
                        tool: string;
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
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getConnector: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                projectId: string;
                slug: string;
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
                        /** @enum {string} */
                        status: "unchecked" | "ready" | "failed" | "off";
                        error: string | null;
                        hint: string | null;
                        checked_at: string | null;
                        policy: ("allow" | "ask" | "block") | null;
                        tools: {
                            name: string;
                            offered_as: string;
                            description: string;
                            read_only: boolean;
                            /** @enum {string} */
                            policy: "allow" | "ask" | "block";
                            decided: ("allow" | "ask" | "block") | null;
                        }[];
                        calls: {
                            /** Format: date-time */
                            at: string;
                            session_id: string | null;
                            tool: string;
                            /** @enum {string} */
                            outcome: "ok" | "tool_error" | "failed" | "blocked" | "denied" | "unanswered" | "refused";
                            ms: number;
                            arguments: string[];
                        }[];
                    };
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    listConnectorApprovals: {
        parameters: {
            query?: {
                status?: "pending" | "all";
                session_id?: string;
                limit?: number;
                cursor?: string;
            };
            header?: never;
            path: {
                projectId: string;
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
                        approvals: {
                            /** Format: uuid */
                            approval_id: string;
                            session_id: string | null;
                            slug: string;
                            tool: string;
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
                        }[];
                    };
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    listConnectors: {
        parameters: {
            query?: {
                limit?: number;
                cursor?: string;
            };
            header?: never;
            path: {
                projectId: string;
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
                        connectors: {
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
                            /** @enum {string} */
                            status: "unchecked" | "ready" | "failed" | "off";
                            error: string | null;
                            hint: string | null;
                            checked_at: string | null;
                            policy: ("allow" | "ask" | "block") | null;
                            tools: {
                                name: string;
                                offered_as: string;
                                description: string;
                                read_only: boolean;
                                /** @enum {string} */
                                policy: "allow" | "ask" | "block";
                                decided: ("allow" | "ask" | "block") | null;
                            }[];
                        }[];
                        errors: {
                            path: string;
                            message: string;
                            /** @enum {string} */
                            severity: "error" | "warning";
                            line: number | null;
                            column: number | null;
                        }[];
                        /** @enum {string} */
                        provider: "mcp" | "none";
                        gateway_url: string;
                        approvals_pending: number;
                    };
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    setConnectorPolicy: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                projectId: string;
                slug: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    policy?: ("allow" | "ask" | "block") | null;
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
                        /** @enum {string} */
                        status: "unchecked" | "ready" | "failed" | "off";
                        error: string | null;
                        hint: string | null;
                        checked_at: string | null;
                        policy: ("allow" | "ask" | "block") | null;
                        tools: {
                            name: string;
                            offered_as: string;
                            description: string;
                            read_only: boolean;
                            /** @enum {string} */
                            policy: "allow" | "ask" | "block";
                            decided: ("allow" | "ask" | "block") | null;
                        }[];
                    };
                };
            };
            /** @description Refused or failed */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
}
