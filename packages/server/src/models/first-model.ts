/** The first start on a terminal asks once for a model. It can be skipped, and it is set later in the dashboard. */
import { access, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ServiceError } from '@svc/contract'
import { firstOwner } from '../accounts/store.ts'
import type { Deps } from '../deps.ts'
import { modelCatalog } from '../model-catalog/catalog.ts'
import { setUpstream } from './set-upstream.ts'

export interface GivenModel {
  url: string
  models: string[]
  key: string | null
}
/** `problem` is why the answer before was refused. Null skips the question; `interrupted` leaves it for the next start. */
export type AskModel = (problem: string | null, signal: AbortSignal) => Promise<GivenModel | null | 'interrupted'>

type FirstDeps = Pick<Deps, 'config' | 'db' | 'keyring' | 'redaction' | 'newId' | 'now'>

/** Answers with the line to print, or null when there is nothing to say. */
export async function askFirstModel(deps: FirstDeps, ask: AskModel, signal: AbortSignal): Promise<string | null> {
  const asked = join(deps.config.dataDir, 'model-question')
  if ((await modelCatalog(deps)).source !== 'none' || (await exists(asked))) return null
  let problem: string | null = null
  for (;;) {
    const given = await ask(problem, signal)
    if (given === 'interrupted' || signal.aborted) return null
    try {
      if (given !== null) await save(deps, given, signal)
      await writeFile(asked, 'This server asked for a model once.\n', { mode: 0o600 })
      return given === null ? null : `  Agents use ${given.models[0]}.`
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error
      problem = [error.message, error.hint].filter((each) => each !== null).join(' ')
    }
  }
}

async function save(deps: FirstDeps, given: GivenModel, signal: AbortSignal): Promise<void> {
  const owner = await firstOwner(deps.db)
  if (owner === null) return
  const actor = { kind: 'user' as const, user_id: owner.user_id, token_id: null, expires_at: null }
  const caller = { actor, requestId: 'first start', address: 'terminal' }
  await setUpstream(deps, { ...given, shape: 'openai', caller, signal })
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}
