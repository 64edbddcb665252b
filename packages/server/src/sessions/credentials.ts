/** What a sandbox generation holds: its service key, its project token, its model key, and git credentials fetched just in time. */
import { base62, cloneCredentialPrefix, makeToken, modelKeyPrefix, sandboxKeyPrefix } from '@svc/contract'
import { sha256, unauthenticated } from '../auth/credentials.ts'
import type { SandboxActor } from '../auth/actor.ts'
import type { DbOrTransaction } from '../db/schema.ts'
import type { Deps } from '../deps.ts'
import { insertToken } from '../tokens/store.ts'
import { holdsServiceKey, insertCredential, lockSession, type SandboxRow, type SessionRow } from './store.ts'

const cloneCredentialMinutes = 15

/** Made from the sandbox's id, so that the server can sign with it without keeping it anywhere. */
export function sandboxKey(deps: Pick<Deps, 'keyring'>, sandboxId: string): string {
  return sandboxKeyPrefix + deps.keyring.derive(`service key of sandbox ${sandboxId}`).toString('hex')
}

export interface SandboxKeys {
  serviceKey: string
  projectToken: string
  modelKey: string
}

/** As the sandbox knows them. */
export function namesOfKeys(keys: SandboxKeys): Record<string, string> {
  return { SVC_TOKEN: keys.serviceKey, SVC_CLI_TOKEN: keys.projectToken, SVC_LLM_API_KEY: keys.modelKey }
}

export async function mintSandboxKeys(
  deps: Pick<Deps, 'keyring' | 'newId' | 'randomBytes'>,
  trx: DbOrTransaction,
  input: {
    session: Pick<SessionRow, 'session_id' | 'project_id'>
    sandbox: Pick<SandboxRow, 'sandbox_id' | 'generation'>
    userId: string
  },
): Promise<SandboxKeys> {
  const keys = makeSandboxKeys(deps, input.sandbox.sandbox_id)
  await enliven(deps, trx, {
    ...input,
    service: sha256(keys.serviceKey),
    token: sha256(keys.projectToken),
    model: sha256(keys.modelKey),
  })
  return keys
}

/** Values without a row: nothing accepts them yet. */
export function makeSandboxKeys(deps: Pick<Deps, 'keyring' | 'randomBytes'>, sandboxId: string): SandboxKeys {
  return {
    serviceKey: sandboxKey(deps, sandboxId),
    projectToken: makeToken(deps.randomBytes),
    modelKey: modelKeyPrefix + base62(40, deps.randomBytes),
  }
}

/** Writes the rows by which the keys of a sandbox work, for the user who has its session. */
export async function enliven(
  deps: Pick<Deps, 'newId'>,
  trx: DbOrTransaction,
  input: {
    session: Pick<SessionRow, 'session_id' | 'project_id'>
    sandbox: Pick<SandboxRow, 'sandbox_id' | 'generation'>
    userId: string
    service: Buffer
    token: Buffer
    model: Buffer
  },
): Promise<void> {
  const { session, sandbox, userId } = input
  const of = {
    project_id: session.project_id,
    session_id: session.session_id,
    sandbox_id: sandbox.sandbox_id,
    generation: sandbox.generation,
    user_id: userId,
    expires_at: null,
    revoked_at: null,
  }
  await insertCredential(trx, { ...of, credential_id: deps.newId(), kind: 'service', sha256: input.service })
  await insertCredential(trx, { ...of, credential_id: deps.newId(), kind: 'model', sha256: input.model })
  await insertToken(trx, {
    token_id: deps.newId(),
    sha256: input.token,
    name: `session ${session.session_id.slice(0, 8)}`,
    user_id: userId,
    project_id: session.project_id,
    session_id: session.session_id,
    generation: sandbox.generation,
    expires_at: null,
    revoked_at: null,
    last_used_at: null,
    // Its session ends it. The token that asked for the session may end earlier: docs/decisions/0029.
    minted_by: null,
  })
}

/** A git credential for one sandbox generation: it may write exactly the session branch, and lives 15 minutes. */
export async function mintCloneCredential(
  deps: Pick<Deps, 'db' | 'newId' | 'randomBytes' | 'now'>,
  actor: SandboxActor,
): Promise<{ token: string; expires_at: string }> {
  const token = cloneCredentialPrefix + base62(40, deps.randomBytes)
  const expiresAt = new Date(deps.now().getTime() + cloneCredentialMinutes * 60_000)
  await deps.db.transaction().execute(async (trx) => {
    await lockSession(trx, actor.session_id, 'share')
    // Stopped since the request was let in: a credential made now would outlive the stop.
    if (!(await holdsServiceKey(trx, actor.sandbox_id))) throw unauthenticated('The sandbox of this key was stopped.')
    await insertCredential(trx, {
      credential_id: deps.newId(),
      kind: 'clone',
      sha256: sha256(token),
      project_id: actor.project_id,
      session_id: actor.session_id,
      sandbox_id: actor.sandbox_id,
      generation: actor.generation,
      user_id: actor.user_id,
      expires_at: expiresAt,
      revoked_at: null,
    })
  })
  return { token, expires_at: expiresAt.toISOString() }
}
