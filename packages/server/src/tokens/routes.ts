import * as contract from '@svc/contract'
import { type MintedToken } from '@svc/contract'
import { onUser } from '../accounts/on-user.ts'
import { accountsOfUser, getAccount, getUser } from '../accounts/store.ts'
import { auditEvent, recordAudit } from '../audit/record.ts'
import { boundSession, type Caller, type ProjectActor, type UserActor } from '../auth/actor.ts'
import { isUuid, notFound } from '../auth/allow.ts'
import type { Deps } from '../deps.ts'
import { getProject } from '../projects/store.ts'
import { handle, type Mounted, ok } from '../http/mount.ts'
import { Page } from '../http/page.ts'
import { approveCliLogin, redeemCliLogin } from './cli-login.ts'
import { mintFor } from './mint.ts'
import { listProjectTokens, listTokens, revokeToken } from './store.ts'

export function tokenRoutes(deps: Deps): Mounted[] {
  return [
    handle(contract.whoAmIRoute, async ({ caller: { actor } }) => ({
      kind: actor.kind,
      token_id: actor.token_id,
      user: await getUser(deps.db, actor.user_id),
      account: await accountOf(deps, actor),
      project_id: actor.kind === 'project' ? actor.project_id : null,
      session_id: boundSession(actor),
      expires_at: actor.expires_at,
    })),
    handle(contract.mintUserTokenRoute, async ({ caller, body }) => {
      const { account_id } = await onUser(deps.db, 'token.create', caller.actor.user_id)
      return mint(deps, caller, { account_id, project_id: null }, body)
    }),
    handle(contract.listUserTokensRoute, async ({ caller, query }) => {
      const { rows, next } = await listTokens(deps.db, { userId: caller.actor.user_id }, query)
      return new Page(rows, next)
    }),
    handle(contract.revokeUserTokenRoute, ({ caller, params }) =>
      ok(revoke(deps, caller, params.tokenId, { userId: caller.actor.user_id }, null)),
    ),
    handle(contract.approveCliLoginRoute, ({ caller, body }) => approveCliLogin(deps, caller, body)),
    handle(contract.redeemCliLoginRoute, ({ body, request }) => redeemCliLogin(deps, body, request)),
    handle(contract.mintProjectTokenRoute, ({ caller, body, project }) =>
      mint(deps, caller, project, { name: body?.name ?? 'cli', expires_at: body?.expires_at }),
    ),
    handle(contract.listProjectTokensRoute, async ({ caller, query, project }) => {
      const { rows, next } = await listProjectTokens(
        deps.db,
        { projectId: project.project_id, sessionId: boundSession(caller.actor) },
        query,
      )
      return new Page(rows, next)
    }),
    handle(contract.revokeProjectTokenRoute, ({ caller, params, project }) =>
      ok(
        revoke(
          deps,
          caller,
          params.tokenId,
          { projectId: project.project_id, sessionId: boundSession(caller.actor) },
          project.account_id,
        ),
      ),
    ),
  ]
}

function mint(
  deps: Deps,
  caller: Caller<UserActor | ProjectActor>,
  { account_id, project_id }: { account_id: string | null; project_id: string | null },
  { name, expires_at }: { name: string; expires_at?: string | null | undefined },
): Promise<MintedToken> {
  return deps.db.transaction().execute(async (trx) => {
    const minted = await mintFor(deps, trx, caller.actor, { name, project_id, expires_at })
    await recordAudit(trx, caller, {
      ...auditEvent({ account_id, project_id }, 'token.create', 'token', minted.token_id),
      after: { name: minted.name, expires_at: minted.expires_at },
    })
    return minted
  })
}

async function revoke(
  deps: Deps,
  caller: Parameters<typeof recordAudit>[1],
  tokenId: string,
  owner: Parameters<typeof revokeToken>[2],
  accountId: string | null,
): Promise<void> {
  if (!isUuid(tokenId)) throw notFound('token')
  await deps.db.transaction().execute(async (trx) => {
    if (!(await revokeToken(trx, tokenId, owner, deps.now()))) throw notFound('token')
    await recordAudit(
      trx,
      caller,
      auditEvent(
        { account_id: accountId, project_id: 'projectId' in owner ? owner.projectId : null },
        'token.revoke',
        'token',
        tokenId,
      ),
    )
  })
}

async function accountOf(deps: Deps, actor: { kind: 'user' | 'project'; user_id: string; project_id?: string }) {
  if (actor.kind === 'project' && actor.project_id !== undefined) {
    const project = await getProject(deps.db, actor.project_id)
    if (project === null) throw notFound('project')
    return getAccount(deps.db, project.account_id)
  }
  const [account] = await accountsOfUser(deps.db, actor.user_id)
  if (account === undefined) throw notFound('account')
  return { account_id: account.account_id, name: account.name }
}
