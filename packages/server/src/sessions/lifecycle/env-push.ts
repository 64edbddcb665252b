/** A job: sends changed secrets to running sandboxes. */
import type { Deps } from '../../deps.ts'
import { getProject } from '../../projects/store.ts'
import { secretsForSandbox } from '../../secrets/for-sandbox.ts'
import { currentManifest } from '../../projects/default-branch.ts'
import type { Changed } from '../../scheduler/inbox.ts'
import { type DaemonAddress, sendEnv } from '../../sandboxes/daemon-client.ts'
import { secretRevisions } from './store.ts'

type PushDeps = Pick<Deps, 'config' | 'db' | 'instanceId' | 'keyring' | 'redaction' | 'sessions' | 'log' | 'now'>

export class EnvPusher {
  readonly #sent = new WeakMap<DaemonAddress, string>()
  readonly #deps: PushDeps

  constructor(deps: PushDeps) {
    this.#deps = deps
  }

  /** Returns the projects with a sandbox that is unavailable, which gets them in the next run. */
  async push(changed: Changed = 'all'): Promise<ReadonlySet<string>> {
    const { db, instanceId, sessions } = this.#deps
    const unavailable = new Set<string>()
    for (const { session_id, ...project } of await secretRevisions(db, { instanceId, changed })) {
      const daemon = sessions.daemonOf(session_id)
      if (daemon === null || this.#sent.get(daemon) === project.revision) continue
      if (!(await this.#send(daemon, project))) unavailable.add(project.project_id)
    }
    return unavailable
  }

  /** False when the sandbox is unavailable. */
  async #send(
    daemon: DaemonAddress,
    { project_id: projectId, revision }: { project_id: string; revision: string },
  ): Promise<boolean> {
    const project = await getProject(this.#deps.db, projectId)
    if (project === null) return true
    const manifest = await currentManifest(this.#deps, project)
    const { env, names } = await secretsForSandbox(this.#deps, project, manifest, daemon.sessionId)
    const outcome = await sendEnv(daemon, { revision, env, names })
    const about = { session_id: daemon.sessionId, revision }
    if (outcome.kind === 'unavailable') {
      const facts = { ...about, reason: outcome.reason }
      this.#deps.log.debug(facts, 'a sandbox is unavailable for changed secrets; retrying')
      return false
    }
    // A retry of this revision would be refused again.
    this.#sent.set(daemon, revision)
    if (outcome.kind === 'refused')
      this.#deps.log.warn({ ...about, reason: outcome.reason }, 'a sandbox refused its secrets')
    else if (outcome.value.changed.length > 0)
      this.#deps.log.info({ ...about, changed: outcome.value.changed }, 'a running session received changed secrets')
    return true
  }
}
