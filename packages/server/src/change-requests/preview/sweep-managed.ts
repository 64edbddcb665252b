/**
 * Finds branches of managed repositories that moved without a request for a poll: a server died after a push, or a person
 * used git in the data folder. It reads a few repositories at a time, one after another, whatever their number.
 */
import { readTips } from '@svc/git'
import { isHomeOf } from '../../db/home.ts'
import type { Deps } from '../../deps.ts'
import { managedAfter, requestPoll } from '../../projects/poll-store.ts'
import { locatedRepository } from '../../projects/repository.ts'
import { getProjects, type ProjectRow } from '../../projects/store.ts'
import { saveTips, tipsIn } from '../open/refresh-tips.ts'
import { type ChangeRequestRow, openAfter } from '../store.ts'

type SweepDeps = Pick<Deps, 'config' | 'db' | 'home' | 'log' | 'now'>

const beginning = '00000000-0000-0000-0000-000000000000'
/** In each run. A repository with more is swept in several. */
const projectsMax = 20
const changeRequestsMax = 20

export class ManagedSweep {
  readonly #deps: SweepDeps
  #projectId = beginning
  #crId = beginning

  constructor(deps: SweepDeps) {
    this.#deps = deps
  }

  /** The job. */
  async run(signal: AbortSignal): Promise<void> {
    await this.#sweepDefaultBranches(signal)
    await this.#sweepChangeRequests(signal)
  }

  async #sweepDefaultBranches(signal: AbortSignal): Promise<void> {
    const projects = await managedAfter(this.#deps.db, {
      projectId: this.#projectId,
      limit: projectsMax,
      home: this.#deps.home,
    })
    this.#projectId = projects.length < projectsMax ? beginning : projects.at(-1)!.project_id
    for (const project of projects) {
      const tips = await this.#tipsOf(project, [project.default_branch], signal)
      if (tips === null) continue
      const sha = tips.get(project.default_branch) ?? null
      if (project.known_branch !== project.default_branch || project.known_sha !== sha)
        await requestPoll(this.#deps.db, project.project_id)
    }
  }

  async #sweepChangeRequests(signal: AbortSignal): Promise<void> {
    const open = await openAfter(this.#deps.db, this.#crId, changeRequestsMax)
    this.#crId = open.length < changeRequestsMax ? beginning : open.at(-1)!.cr_id
    const ofProject = Map.groupBy(open, ({ project_id }) => project_id)
    for (const project of await getProjects(this.#deps.db, [...ofProject.keys()]))
      if (project.managed && project.deleted_at === null && isHomeOf(this.#deps.home, project))
        await this.#saveMoved(project, ofProject.get(project.project_id) ?? [], signal)
  }

  async #saveMoved(project: ProjectRow, rows: ChangeRequestRow[], signal: AbortSignal): Promise<void> {
    const tips = await this.#tipsOf(project, [...new Set(rows.flatMap((cr) => [cr.base_ref, cr.head_ref]))], signal)
    if (tips !== null) await saveTips(this.#deps, project, tipsIn(rows, tips))
  }

  /** Null: the repository cannot be read, which its readers report. */
  async #tipsOf(project: ProjectRow, branches: string[], signal: AbortSignal): Promise<Map<string, string> | null> {
    const repository = locatedRepository(this.#deps, project)
    if (repository === null || signal.aborted) return null
    const outcome = await readTips(repository, branches, { signal })
    return outcome.kind === 'tips' ? outcome.tips : null
  }
}
