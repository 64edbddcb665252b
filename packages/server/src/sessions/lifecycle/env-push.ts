/** A job: sends changed secrets to running sandboxes. */
import type { Deps } from '../../deps.ts'
import { getProject } from '../../projects/store.ts'
import { secretsForSandbox } from '../../secrets/for-sandbox.ts'
import { currentManifest } from '../../projects/default-branch.ts'
import { type DaemonAddress, sendEnv } from '../../sandboxes/daemon-client.ts'
import { secretRevisions } from './store.ts'

type PushDeps = Pick<Deps, 'config' | 'db' | 'keyring' | 'redaction' | 'sessions' | 'log' | 'now'>

export class EnvPusher {
  readonly #sent = new WeakMap<DaemonAddress, string>()
  readonly #deps: PushDeps

  constructor(deps: PushDeps) {
    this.#deps = deps
  }

  /** A sandbox that is unavailable gets them in the next run. */
  async push(): Promise<void> {
    const daemons = this.#deps.sessions.daemons()
    const projects = await secretRevisions(
      this.#deps.db,
      daemons.map((daemon) => daemon.sessionId),
    )
    for (const daemon of daemons) {
      const project = projects.get(daemon.sessionId)
      if (project !== undefined && this.#sent.get(daemon) !== project.revision) await this.#send(daemon, project)
    }
  }

  async #send(daemon: DaemonAddress, { project_id: projectId, revision }: { project_id: string; revision: string }) {
    const project = await getProject(this.#deps.db, projectId)
    if (project === null) return
    const manifest = await currentManifest(this.#deps, project)
    const { env, names } = await secretsForSandbox(this.#deps, project, manifest, daemon.sessionId)
    const outcome = await sendEnv(daemon, { revision, env, names })
    const about = { session_id: daemon.sessionId, revision }
    if (outcome.kind === 'unavailable')
      return this.#deps.log.debug(
        { ...about, reason: outcome.reason },
        'a sandbox is unavailable for changed secrets; retrying',
      )
    // A retry of this revision would be refused again.
    this.#sent.set(daemon, revision)
    if (outcome.kind === 'refused')
      this.#deps.log.warn({ ...about, reason: outcome.reason }, 'a sandbox refused its secrets')
    else if (outcome.value.changed.length > 0)
      this.#deps.log.info({ ...about, changed: outcome.value.changed }, 'a running session received changed secrets')
  }
}
