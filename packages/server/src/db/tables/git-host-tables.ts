/** Protected branches and pull requests on git hosts. */
import type { JSONColumnType } from 'kysely'
import type { Caller, ProjectActor, UserActor } from '../../auth/actor.ts'
import type { Now, Timestamp } from './columns.ts'

export interface GitHostTables {
  protected_branches: {
    project_id: string
    branch: string
    reason: string
    found_by: 'api' | 'push'
    found_at: Timestamp
  }
  host_landings: {
    cr_id: string
    project_id: string
    number: number | null
    url: string | null
    created_by: string | null
    caller: JSONColumnType<Caller<UserActor | ProjectActor>>
    created_at: Timestamp
    checked_at: Now
  }
}
