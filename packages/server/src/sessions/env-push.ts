/** A job: secrets that changed reach the sandboxes that run. */
import type { Deps } from '../deps.ts'
import { getProject } from '../projects/store.ts'
import { secretsForSandbox } from '../secrets/for-sandbox.ts'
import { currentManifest } from '../projects/default-branch.ts'
import { type DaemonAddress, sendEnv } from './daemon-client.ts'
import { secretRevisions } from './env-store.ts'

/** What each sandbox was told last; nothing for one that has just begun. */
export class EnvPusher {
  readonly #told = new WeakMap<DaemonAddress, string>()
  readonly #deps: Pick<Deps, 'config' | 'db' | 'keyring' | 'redaction' | 'keeper' | 'log' | 'now'>

  constructor(deps: Pick<Deps, 'config' | 'db' | 'keyring' | 'redaction' | 'keeper' | 'log' | 'now'>) {
    this.#deps = deps
  }

  /** A sandbox that does not take them now is asked again the next time. */
  async push(): Promise<void> {
    const daemons = this.#deps.keeper.daemons()
    const projects = await secretRevisions(
      this.#deps.db,
      daemons.map((daemon) => daemon.sessionId),
    )
    for (const daemon of daemons) {
      const project = projects.get(daemon.sessionId)
      if (project !== undefined && this.#told.get(daemon) !== project.revision) await this.#tell(daemon, project)
    }
  }

  async #tell(daemon: DaemonAddress, { projectId, revision }: { projectId: string; revision: string }): Promise<void> {
    const project = await getProject(this.#deps.db, projectId)
    if (project === null) return
    const manifest = await currentManifest(this.#deps, project)
    const { env } = await secretsForSandbox(this.#deps, project, manifest, daemon.sessionId)
    const outcome = await sendEnv(daemon, { revision, env })
    const about = { session_id: daemon.sessionId, revision }
    if (outcome.kind === 'away')
      return this.#deps.log.debug({ ...about, reason: outcome.reason }, 'secrets wait for a sandbox')
    // Refused is final for this revision: asking again would be refused again.
    this.#told.set(daemon, revision)
    if (outcome.kind === 'refused')
      this.#deps.log.warn({ ...about, reason: outcome.reason }, 'a sandbox refused its secrets')
    else if (outcome.value.changed.length > 0)
      this.#deps.log.info({ ...about, changed: outcome.value.changed }, 'a running session got changed secrets')
  }
}
