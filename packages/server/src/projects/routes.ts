import { createProjectRoute, getProjectRoute, listProjectsRoute, updateProjectRoute } from '@svc/contract'
import type { Deps } from '../deps.ts'
import { handle, type Mounted } from '../http/mount.ts'
import { Page } from '../http/page.ts'
import { createProject } from './create.ts'
import { editProject } from './edit.ts'
import { listProjectsOfUser, presentProject } from './store.ts'

export function projectRoutes(deps: Deps): Mounted[] {
  return [
    handle(createProjectRoute, async ({ body, caller, request }) =>
      presentProject(deps.config, await createProject(deps, { ...body, caller, projectId: request.resourceId })),
    ),
    handle(listProjectsRoute, async ({ query, caller }) => {
      const { rows, next } = await listProjectsOfUser(deps.db, caller.actor.user_id, query)
      return new Page(
        rows.map((row) => presentProject(deps.config, row)),
        next,
      )
    }),
    handle(getProjectRoute, async ({ project }) => presentProject(deps.config, project)),
    handle(updateProjectRoute, async ({ body, project, caller }) =>
      presentProject(deps.config, await editProject(deps, { ...body, project, caller })),
    ),
  ]
}
