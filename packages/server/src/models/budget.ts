/** Before each call what it may use is set aside, and afterwards what it used is counted. */
import { ServiceError } from '@svc/contract'
import type { Deps } from '../deps.ts'
import { stopForReason } from '../sessions/activity-store.ts'
import { getSessionById } from '../sessions/store.ts'
import { type Ask, type Tokens, withRoomFor } from './shapes.ts'
import {
  type Cap,
  capsOf,
  forsakenReservations,
  insertReservation,
  lockCaps,
  settleReservation,
  type Spender,
} from './store.ts'
import type { Shape } from './upstreams.ts'

type BudgetDeps = Pick<Deps, 'db' | 'newId' | 'instanceId' | 'keeper' | 'log'>

/** What is set aside for an answer whose request sets no bound; near a cap it gets one. */
const tokensOutByDefault = 16_384
/** An answer of fewer tokens helps nobody. */
const tokensOutMin = 64

export interface Reservation {
  id: string
  body: object
  settle: (used: Tokens | null) => void
}

export async function reserve(
  deps: BudgetDeps,
  input: { spender: Spender; shape: Shape; ask: Ask },
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
    body: outcome.kind === 'bounded' ? withRoomFor(shape, ask.body, outcome.tokensOut) : ask.body,
    settle: (used) => {
      deps.db
        .transaction()
        .execute((trx) => settleReservation(trx, id, used))
        // It stays reserved, and counts as used once this server is gone.
        .catch((error: unknown) =>
          deps.log.error({ err: error, session_id: spender.session_id }, 'the use of a model was not counted'),
        )
    },
  }
}

/** A job: what was set aside by servers that are gone. */
export async function settleForsaken(deps: Pick<Deps, 'db'>, staleSeconds: number): Promise<void> {
  for (const { reservation_id, tokens } of await forsakenReservations(deps.db, staleSeconds))
    await deps.db.transaction().execute((trx) => settleReservation(trx, reservation_id, tokens))
}

const roomIn = (cap: Cap) => cap.tokens - cap.taken

const words: Record<Cap['scope'], { what: string; hint: string }> = {
  session: {
    what: 'The tokens one session of this project may use',
    hint: 'Raise model_tokens_per_session in the settings of the project, or go on in a new session.',
  },
  project: {
    what: 'The tokens this project may use in a month',
    hint: 'Raise model_tokens_per_month in the settings of the project, or wait for the next month.',
  },
  account: {
    what: 'The tokens this account may use in a month',
    hint: 'An admin raises it on the usage page, or wait for the next month.',
  },
}

/** The session ends with the true reason, and its unfinished work is saved as at every stop. */
async function refuse(deps: BudgetDeps, spender: Spender, cap: Cap): Promise<never> {
  const { what, hint } = words[cap.scope]
  const reason = `${what} are spent: ${cap.taken} of ${cap.tokens} are used or set aside for calls under way.`
  const session = await getSessionById(deps.db, spender.session_id)
  if (session !== null && (await stopForReason(deps.db, session, `${reason} ${hint}`))) {
    deps.log.info({ session_id: spender.session_id, scope: cap.scope }, 'a session is stopped: its tokens are spent')
    deps.keeper.kick(spender.session_id)
  }
  throw new ServiceError('spend_cap_reached', reason, {
    hint,
    detail: { scope: cap.scope, tokens: cap.tokens, tokens_taken: cap.taken },
  })
}
