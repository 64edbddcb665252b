/** The credentials of a sandbox generation: service key, project token, model key, and short-lived git credentials. */
import { base62, cloneCredentialPrefix, makeToken, modelKeyPrefix } from '@svc/contract'
import { sha256, unauthenticated } from '../../auth/credentials.ts'
import type { SandboxActor } from '../../auth/actor.ts'
import type { DbOrTransaction } from '../../db/schema.ts'
import type { Deps } from '../../deps.ts'
import { sandboxKey } from '../../sandboxes/key.ts'
import { insertToken } from '../../tokens/store.ts'
import { lockSession, type SessionRow } from '../store.ts'
import { deleteExpiredCredentials, holdsServiceKey, insertCredential, type SandboxRow } from '../../sandboxes/store.ts'

const cloneCredentialMinutes = 15

export interface SandboxKeys {
  serviceKey: string
  projectToken: string
  modelKey: string
}

export function namesOfKeys(keys: SandboxKeys): Record<string, string> {
  return { SVC_TOKEN: keys.serviceKey, SVC_CLI_TOKEN: keys.projectToken, SVC_LLM_API_KEY: keys.modelKey }
}

interface KeyHolder {
  session: Pick<SessionRow, 'session_id' | 'project_id'>
  sandbox: Pick<SandboxRow, 'sandbox_id' | 'generation'>
  userId: string
}

export async function mintSandboxKeys(
  deps: Pick<Deps, 'keyring' | 'newId' | 'randomBytes'>,
  trx: DbOrTransaction,
  input: KeyHolder,
): Promise<SandboxKeys> {
  const keys = makeSandboxKeys(deps, input.sandbox.sandbox_id)
  await activateSandboxKeys(deps, trx, {
    ...input,
    service: sha256(keys.serviceKey),
    token: sha256(keys.projectToken),
    model: sha256(keys.modelKey),
  })
  return keys
}

/** Keys without rows, which the server does not accept yet. */
export function makeSandboxKeys(deps: Pick<Deps, 'keyring' | 'randomBytes'>, sandboxId: string): SandboxKeys {
  return {
    serviceKey: sandboxKey(deps, sandboxId),
    projectToken: makeToken(deps.randomBytes),
    modelKey: modelKeyPrefix + base62(40, deps.randomBytes),
  }
}

/** Inserts the rows that make the keys of a sandbox valid, for the user of its session. */
export async function activateSandboxKeys(
  deps: Pick<Deps, 'newId'>,
  trx: DbOrTransaction,
  input: KeyHolder & Record<'service' | 'token' | 'model', Buffer>,
): Promise<void> {
  const { session_id, project_id } = input.session
  const { sandbox_id, generation } = input.sandbox
  const of = { project_id, session_id, generation, user_id: input.userId }
  const ofSandbox = { ...of, sandbox_id }
  await insertCredential(trx, { ...ofSandbox, credential_id: deps.newId(), kind: 'service', sha256: input.service })
  await insertCredential(trx, { ...ofSandbox, credential_id: deps.newId(), kind: 'model', sha256: input.model })
  await insertToken(trx, {
    ...of,
    token_id: deps.newId(),
    sha256: input.token,
    name: `session ${session_id.slice(0, 8)}`,
    // Without `minted_by` and an expiry: the token that created the session may end earlier (docs/decisions/0029).
  })
}

/** A git credential for one sandbox generation, valid for 15 minutes, which may write only the session branch. */
export async function mintCloneCredential(
  deps: Pick<Deps, 'db' | 'newId' | 'randomBytes' | 'now'>,
  actor: SandboxActor,
): Promise<{ token: string; expires_at: string }> {
  const token = cloneCredentialPrefix + base62(40, deps.randomBytes)
  const now = deps.now()
  const expiresAt = new Date(now.getTime() + cloneCredentialMinutes * 60_000)
  const { project_id, session_id, sandbox_id, generation, user_id } = actor
  await deps.db.transaction().execute(async (trx) => {
    await lockSession(trx, session_id, 'share')
    // Stopped after the request was authorized: a credential made now would outlive the stop.
    if (!(await holdsServiceKey(trx, sandbox_id))) throw unauthenticated('The sandbox of this key was stopped.')
    // A session at work takes dozens in an hour.
    await deleteExpiredCredentials(trx, session_id, now)
    await insertCredential(trx, {
      credential_id: deps.newId(),
      kind: 'clone',
      sha256: sha256(token),
      ...{ project_id, session_id, sandbox_id, generation, user_id },
      expires_at: expiresAt,
    })
  })
  return { token, expires_at: expiresAt.toISOString() }
}
