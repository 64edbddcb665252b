import type { ProjectMove } from '@svc/contract'
import type { Deps } from '../../deps.ts'
import type { ProjectRow } from '../../projects/store.ts'
import { lastMoveOf, type NamedMove } from './store.ts'

export async function homeOfProject({ db, home }: Pick<Deps, 'db' | 'home'>, project: ProjectRow) {
  const move = await lastMoveOf(db, project.project_id)
  return {
    server: home === null ? null : project.home,
    move: move === null ? null : presentMove({ ...move, slug: project.slug }),
  }
}

export function presentMove(row: NamedMove): ProjectMove {
  const { move_id, project_id, phase, cause, waits_for, error, requested_at, ended_at } = row
  const { slug: project_slug, from_server: from, to_server: to, is_forced: force } = row
  return { move_id, project_id, project_slug, from, to, phase, cause, force, waits_for, error, requested_at, ended_at }
}
