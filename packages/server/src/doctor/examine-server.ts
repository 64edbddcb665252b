/** The doctor's findings about the server that runs, for its page and for the command on its machine. */
import type { DoctorReport } from '@svc/contract/daemon/owner-socket'
import { readTogether } from '../db/read-together.ts'
import type { Deps } from '../deps.ts'
import { examineService, group } from './examine-service.ts'

export async function examineServer({
  db,
  config,
  sandboxes,
}: Pick<Deps, 'db' | 'config' | 'sandboxes'>): Promise<DoctorReport> {
  // It asks the database, the model and the hosts, so impatient readers share one examination.
  return readTogether(db, 'doctor', async () => {
    const [probed, groups, ...drivers] = await Promise.all([
      sandboxes?.probe(),
      examineService({ config, db }),
      ...(sandboxes === null ? [] : [group(sandboxes.name, [sandboxes.examine()])]),
    ])
    return { driver: sandboxes?.name ?? null, ready: probed?.kind === 'ready', drivers, groups }
  })
}
