import {
  approveCliLoginRoute,
  listProjectTokensRoute,
  listUserTokensRoute,
  mintProjectTokenRoute,
  mintUserTokenRoute,
  redeemCliLoginRoute,
  revokeProjectTokenRoute,
  revokeUserTokenRoute,
  whoAmIRoute,
} from '@svc/contract'
import { onUser } from '../accounts/on-user.ts'
import { accountsOfUser, getAccount, getUser } from '../accounts/store.ts'
import { recordAudit } from '../audit/record.ts'
import { boundSession } from '../auth/actor.ts'
import { isUuid, notFound } from '../auth/allow.ts'
import type { Deps } from '../deps.ts'
import { handle, type Mounted } from '../http/mount.ts'
import { Page } from '../http/page.ts'
import { approveCliLogin, redeemCliLogin } from './cli-login.ts'
import { mintFor } from './mint.ts'
import { listTokens, revokeToken } from './store.ts'

export function tokenRoutes(deps: Deps): Mounted[] {
  return [
    handle(whoAmIRoute, async ({ caller: { actor } }) => ({
      kind: actor.kind,
      token_id: actor.token_id,
      user: await getUser(deps.db, actor.user_id),
      account: await accountOf(deps, actor),
      project_id: actor.kind === 'project' ? actor.project_id : null,
      session_id: boundSession(actor),
      expires_at: actor.expires_at,
    })),
    handle(mintUserTokenRoute, async ({ caller, body }) =>
      deps.db.transaction().execute(async (trx) => {
        const { name, expires_at } = body
        const minted = await mintFor(deps, trx, caller.actor, { name, project_id: null, expires_at })
        await recordAudit(trx, caller, {
          ...(await onUser(trx, 'token.create', caller.actor.user_id)),
          object_type: 'token',
          object_id: minted.token_id,
          after: { name: minted.name, expires_at: minted.expires_at },
        })
        return minted
      }),
    ),
    handle(listUserTokensRoute, async ({ caller, query }) => {
      const { rows, next } = await listTokens(deps.db, { userId: caller.actor.user_id }, query)
      return new Page(rows, next)
    }),
    handle(revokeUserTokenRoute, async ({ caller, params }) => {
      await revoke(deps, caller, params.tokenId, { userId: caller.actor.user_id }, null)
      return { ok: true }
    }),
    handle(approveCliLoginRoute, ({ caller, body }) => approveCliLogin(deps, caller, body)),
    handle(redeemCliLoginRoute, ({ body, request }) => redeemCliLogin(deps, body, request)),
    handle(mintProjectTokenRoute, async ({ caller, body, project }) =>
      deps.db.transaction().execute(async (trx) => {
        const minted = await mintFor(deps, trx, caller.actor, {
          name: body?.name ?? 'cli',
          project_id: project.project_id,
          expires_at: body?.expires_at,
        })
        await recordAudit(trx, caller, {
          account_id: project.account_id,
          project_id: project.project_id,
          action: 'token.create',
          object_type: 'token',
          object_id: minted.token_id,
          after: { name: minted.name, expires_at: minted.expires_at },
        })
        return minted
      }),
    ),
    handle(listProjectTokensRoute, async ({ caller, query, project }) => {
      const { rows, next } = await listTokens(
        deps.db,
        { projectId: project.project_id, sessionId: boundSession(caller.actor) },
        query,
      )
      return new Page(rows, next)
    }),
    handle(revokeProjectTokenRoute, async ({ caller, params, project }) => {
      await revoke(
        deps,
        caller,
        params.tokenId,
        { projectId: project.project_id, sessionId: boundSession(caller.actor) },
        project.account_id,
      )
      return { ok: true }
    }),
  ]
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
    await recordAudit(trx, caller, {
      account_id: accountId,
      project_id: 'projectId' in owner ? owner.projectId : null,
      action: 'token.revoke',
      object_type: 'token',
      object_id: tokenId,
    })
  })
}

async function accountOf(deps: Deps, actor: { kind: 'user' | 'project'; user_id: string; project_id?: string }) {
  if (actor.kind === 'project' && actor.project_id !== undefined) {
    const { account_id } = await deps.db
      .selectFrom('projects')
      .select('account_id')
      .where('project_id', '=', actor.project_id)
      .executeTakeFirstOrThrow()
    return getAccount(deps.db, account_id)
  }
  const [account] = await accountsOfUser(deps.db, actor.user_id)
  if (account === undefined) throw notFound('account')
  return { account_id: account.account_id, name: account.name }
}
