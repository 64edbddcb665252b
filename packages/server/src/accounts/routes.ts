import * as contract from '@svc/contract'
import { ServiceError } from '@svc/contract'
import { listAudit } from '../audit/list.ts'
import { projectIdNamed } from '../auth/allow.ts'
import { listDashboardSessions } from '../auth/dashboard-session.ts'
import type { Deps } from '../deps.ts'
import { handle, type Mounted, ok } from '../http/mount.ts'
import { Page } from '../http/page.ts'
import { createAccount, updateAccount } from './change.ts'
import { invite } from './invitations/invite.ts'
import { changeRole, removeMember } from './members.ts'
import { createOwnerLink } from './sign-in/owner-link.ts'
import { confirmPassword, setPassword } from './sign-in/password.ts'
import { accountsOfUser, findPassword, getUser, listMembers } from './store.ts'
import { endSession, signInByLink, signInByPassword, signOut } from './sign-in/sign-in.ts'

export function accountRoutes(deps: Deps): Mounted[] {
  return [
    handle(contract.getMeRoute, async ({ caller }) => {
      const accounts = await accountsOfUser(deps.db, caller.actor.user_id)
      const account = accounts[0]
      if (account === undefined) throw new ServiceError('forbidden', 'You are not a member of any account.')
      const user = await getUser(deps.db, caller.actor.user_id)
      const { held } = deps.hold
      const restored = held === null ? {} : { held: { backup_created_at: held.backup_created_at } }
      return { user_id: user.user_id, email: user.email, user, account, accounts, ...restored }
    }),
    handle(contract.listAccountsRoute, async ({ caller }) => ({
      accounts: await accountsOfUser(deps.db, caller.actor.user_id),
    })),
    handle(contract.createAccountRoute, ({ body, caller, request }) =>
      createAccount(deps, { ...body, caller, accountId: request.resourceId }),
    ),
    handle(contract.updateAccountRoute, ({ account, body, caller }) =>
      updateAccount(deps, { ...body, account, caller }),
    ),
    handle(contract.listMembersRoute, async ({ account, query }) => {
      const { rows, next } = await listMembers(deps.db, account.account_id, query)
      return new Page(rows, next)
    }),
    handle(contract.addMemberRoute, ({ account, body, caller }) => invite(deps, { account, caller, ...body })),
    handle(contract.changeRoleRoute, async ({ account, body, caller, params }) =>
      changeRole(deps, { account, caller, userId: params.userId, role: body.role }),
    ),
    handle(contract.removeMemberRoute, ({ account, caller, params }) =>
      ok(removeMember(deps, { account, caller, userId: params.userId })),
    ),
    handle(contract.listAuditRoute, async ({ account, query, caller }) => {
      const { account_id: accountId } = account
      const { project_id: named } = query
      const of = {
        accountId,
        projectId: named && (await projectIdNamed(deps, { named, accountId, actor: caller.actor })),
        action: query.action,
        userId: query.actor_user_id,
      }
      const { rows, next } = await listAudit(deps.db, of, query)
      return new Page(rows, next)
    }),
    ...signInRoutes(deps),
  ]
}

function signInRoutes(deps: Deps): Mounted[] {
  return [
    handle(contract.createOwnerLinkRoute, ({ caller }) => createOwnerLink(deps, caller)),
    handle(contract.signInMethodsRoute, async () => ({
      password: true as const,
      oidc: deps.config.oidc?.name ?? null,
    })),
    handle(contract.signInRoute, ({ body, request }) => signInByLink(deps, body.code, request)),
    handle(contract.signInWithPasswordRoute, ({ body, request }) => signInByPassword(deps, body, request)),
    handle(contract.getPasswordRoute, async ({ caller }) => {
      const found = await findPassword(deps.db, { user_id: caller.actor.user_id })
      return { email: found?.email ?? null, is_set: found?.hash != null }
    }),
    handle(contract.setPasswordRoute, ({ caller, body }) => ok(setPassword(deps, caller, body))),
    handle(contract.confirmSignInRoute, ({ caller, body }) => ok(confirmPassword(deps, caller, body.password))),
    handle(contract.listDashboardSessionsRoute, async ({ caller: { actor } }) => {
      const sessions = await listDashboardSessions(deps, actor.user_id)
      return sessions.map((session) => ({
        ...session,
        current: session.dashboard_session_id === actor.dashboard_session?.id,
      }))
    }),
    handle(contract.endDashboardSessionRoute, ({ caller, params }) =>
      ok(endSession(deps, caller, params.dashboardSessionId)),
    ),
    handle(contract.signOutRoute, ({ request }) => signOut(deps, request)),
  ]
}
