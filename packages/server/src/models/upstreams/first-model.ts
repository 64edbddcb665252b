/** The first start in a terminal prompts once for a model. The prompt can be skipped; the dashboard sets a model later. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ServiceError } from '@svc/contract'
import { modelQuestionName } from '@svc/contract/daemon/owner-socket'
import { firstOwner } from '../../accounts/store.ts'
import type { Deps } from '../../deps.ts'
import { userActor } from '../../auth/actor.ts'
import { modelCatalog } from '../../model-catalog/catalog.ts'
import { setUpstream } from './set-upstream.ts'

export interface GivenModel {
  url: string
  models: string[]
  key: string | null
}
/** `problem` explains why the previous input was rejected. Null skips the prompt; `interrupted` defers it to the next start. */
export type AskModel = (problem: string | null, signal: AbortSignal) => Promise<GivenModel | null | 'interrupted'>

type FirstDeps = Pick<Deps, 'config' | 'db' | 'keyring' | 'redaction' | 'newId' | 'now'>

/** Returns a line to print, or null. */
export async function askFirstModel(deps: FirstDeps, ask: AskModel, signal: AbortSignal): Promise<string | null> {
  const marker = join(deps.config.dataDir, modelQuestionName)
  if ((await modelCatalog(deps)).source !== 'none' || (await Bun.file(marker).exists())) return null
  let problem: string | null = null
  for (;;) {
    const given = await ask(problem, signal)
    if (given === 'interrupted' || signal.aborted) return null
    try {
      if (given !== null) await save(deps, given, signal)
      await writeFile(marker, 'This server asked for a model once.\n', { mode: 0o600 })
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
  const caller = { actor: userActor(owner.user_id), requestId: 'first start', address: 'terminal' }
  await setUpstream(deps, { ...given, shape: 'openai', caller, signal })
}
