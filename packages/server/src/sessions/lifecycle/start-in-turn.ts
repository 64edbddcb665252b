import type { Deps } from '../../deps.ts'
import type { BootQueue } from '../../sandboxes/boot-queue.ts'
import type { SessionWithSandbox } from '../store.ts'
import { PhaseJournal } from './phases.ts'

/** Starts a session when its turn has come. The timeline shows its place in line as the first phase. */
export async function startInTurn<T>(
  deps: Pick<Deps, 'db' | 'log' | 'now' | 'redaction' | 'tracing'>,
  boots: BootQueue,
  session: SessionWithSandbox,
  signal: AbortSignal,
  start: (journal: PhaseJournal) => Promise<T>,
): Promise<T> {
  const journal = new PhaseJournal(deps, session)
  const begin = async () => {
    await journal.waitEnds()
    return start(journal)
  }
  const attributes = { 'svc.project_id': session.project_id, 'svc.session_id': session.session_id }
  try {
    return await deps.tracing.span('start session', { attributes }, () =>
      boots.run(signal, begin, {
        owner: session.account_id,
        onPlace: ({ place, of, reason }) => journal.waits(`Place ${place} of ${of} in line: ${reason}.`),
      }),
    )
  } finally {
    await journal.waitEnds()
  }
}
