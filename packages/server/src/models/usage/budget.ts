/** Reserves the tokens of a call before it starts, and records the actual usage afterwards. */
import { ServiceError } from '@svc/contract'
import type { Deps } from '../../deps.ts'
import { stopForReason } from '../../sessions/activity-store.ts'
import { getSessionById } from '../../sessions/store.ts'
import { type ModelRequest, type Tokens, withOutputLimit } from '../shapes.ts'
import {
  type Cap,
  capsOf,
  orphanedReservations,
  insertReservation,
  lockCaps,
  resolveReservation,
  type Spender,
} from '../store.ts'
import type { Shape } from '../upstreams/upstreams.ts'

type BudgetDeps = Pick<Deps, 'db' | 'newId' | 'instanceId' | 'sessions' | 'log'>

/** Reserved when a request sets no output limit. Near a cap, the request gets a limit. */
const tokensOutByDefault = 16_384
/** Fewer output tokens are not useful. */
const tokensOutMin = 64

export interface Reservation {
  id: string
  body: object
  settle: (used: Tokens | null) => void
}

export async function reserve(
  deps: BudgetDeps,
  input: { spender: Spender; shape: Shape; ask: ModelRequest },
): Promise<Reservation> {
  const { spender, shape, ask } = input
  const id = deps.newId()
  const outcome = await deps.db.transaction().execute(async (trx) => {
    const wantsOut = ask.tokensOut ?? tokensOutByDefault
    const row = { ...spender, reservation_id: id, instance_id: deps.instanceId, model: ask.model }
    if ((await capsOf(trx, spender)).length === 0) {
      await insertReservation(trx, { ...row, tokens: { in: ask.tokensIn, out: wantsOut } })
      return { kind: 'free' as const }
    }
    await lockCaps(trx, spender.account_id)
    const caps = await capsOf(trx, spender)
    const tightest = caps.toSorted((one, other) => roomIn(one) - roomIn(other))[0]
    const room = tightest === undefined ? Infinity : roomIn(tightest) - ask.tokensIn
    if (tightest !== undefined && room < tokensOutMin) return { kind: 'reached' as const, cap: tightest }
    const tokens = { in: ask.tokensIn, out: Math.min(wantsOut, room) }
    await insertReservation(trx, { ...row, tokens })
    return { kind: 'bounded' as const, tokensOut: tokens.out }
  })
  if (outcome.kind === 'reached') return refuse(deps, spender, outcome.cap)
  return {
    id,
    body: outcome.kind === 'bounded' ? withOutputLimit(shape, ask.body, outcome.tokensOut) : ask.body,
    settle: (used) => {
      deps.db
        .transaction()
        .execute((trx) => resolveReservation(trx, id, used))
        // The reservation stays and counts as usage once this server stops.
        .catch((error: unknown) =>
          deps.log.error({ err: error, session_id: spender.session_id }, 'model usage not recorded'),
        )
    },
  }
}

/** The job. It settles reservations of stopped servers. */
export async function reconcileOrphaned(deps: Pick<Deps, 'db'>, staleSeconds: number): Promise<void> {
  for (const { reservation_id, tokens } of await orphanedReservations(deps.db, staleSeconds))
    await deps.db.transaction().execute((trx) => resolveReservation(trx, reservation_id, tokens))
}

const roomIn = (cap: Cap) => cap.tokens - cap.taken

const labels: Record<Cap['scope'], { what: string; hint: string }> = {
  session: {
    what: 'The tokens one session of this project may use',
    hint: 'Raise model_tokens_per_session in the project settings, or continue in a new session.',
  },
  project: {
    what: 'The tokens this project may use in a month',
    hint: 'Raise model_tokens_per_month in the project settings, or wait for the next month.',
  },
  account: {
    what: 'The tokens this account may use in a month',
    hint: 'Ask an admin to raise the cap on the usage page, or wait for the next month.',
  },
}

/** The session stops with this reason, and its unfinished work is saved as at every stop. */
async function refuse(deps: BudgetDeps, spender: Spender, cap: Cap): Promise<never> {
  const { what, hint } = labels[cap.scope]
  const reason = `${what} are spent: ${cap.taken} of ${cap.tokens} are used or reserved for running calls.`
  const session = await getSessionById(deps.db, spender.session_id)
  if (session !== null && (await stopForReason(deps.db, session, `${reason} ${hint}`))) {
    deps.log.info({ session_id: spender.session_id, scope: cap.scope }, 'session stopped: token cap reached')
    deps.sessions.enqueue(spender.session_id)
  }
  throw new ServiceError('spend_cap_reached', reason, {
    hint,
    detail: { scope: cap.scope, tokens: cap.tokens, tokens_taken: cap.taken },
  })
}
