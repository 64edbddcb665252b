import type { RefUpdate, Repository } from './repository.ts'
/** null: allowed. A sentence: the whole push is refused and the pusher reads the sentence. */
export type PushGate = (commands: RefUpdate[]) => string | null | Promise<string | null>
/** Called when the objects have arrived and no ref has moved. `repo` reads the pushed objects and lives as long as the call. */
export type PushInspector = (push: { repo: Repository; updates: RefUpdate[] }) => Promise<string | null>
/** The gate of a session: create or fast-forward exactly one branch. */
export function allowOnlyBranch(_branch: string): PushGate {
  throw new Error('allowOnlyBranch is not built yet.')
}
