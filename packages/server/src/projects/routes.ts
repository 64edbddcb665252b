import * as contract from '@svc/contract'
import { hasErrors, parseManifest } from '@svc/contract'
import type { Deps } from '../deps.ts'
import { handle, type Mounted } from '../http/mount.ts'
import { Page } from '../http/page.ts'
import { shortCredential } from '../redaction/short-credential.ts'
import { branchesOf, commitsOf, compareRefs, pathsOf, searchFiles, treeOf } from './browse/browse.ts'
import { createProject } from './create.ts'
import { editProject } from './edit.ts'
import { blameOf, fileOf } from './browse/file.ts'
import { restoreProject } from './restore.ts'
import { listDeletedProjects, listProjectsOfUser, presentProject } from './store.ts'
import { withinTime } from './within-limits.ts'

export function projectRoutes(deps: Deps): Mounted[] {
  return [
    handle(contract.createProjectRoute, async ({ body, caller, request }) => {
      const created = await createProject(deps, { ...body, caller, projectId: request.resourceId })
      if (body?.git_token !== undefined)
        request.warnings.push(...shortCredential('The git access token', body.git_token))
      return presentProject(deps.config, created)
    }),
    handle(contract.listProjectsRoute, async ({ query, caller }) => {
      const { user_id: userId } = caller.actor
      const { rows, next } = await (query.deleted === 'true'
        ? listDeletedProjects(deps.db, userId, { ...query, now: deps.now() })
        : listProjectsOfUser(deps.db, userId, query))
      return new Page(
        rows.map((row) => presentProject(deps.config, row)),
        next,
      )
    }),
    handle(contract.getProjectRoute, async ({ project }) => presentProject(deps.config, project)),
    handle(contract.updateProjectRoute, async ({ body, project, caller, request }) => {
      const edited = await editProject(deps, { ...body, project, caller })
      if (body.git_token !== undefined)
        request.warnings.push(...shortCredential('The git access token', body.git_token))
      return presentProject(deps.config, edited)
    }),
    handle(contract.restoreProjectRoute, async ({ project, caller }) =>
      presentProject(deps.config, await restoreProject(deps, { project, caller })),
    ),
    handle(contract.validateManifestRoute, async ({ body }) => {
      const { issues } = parseManifest(body.raw)
      return { valid: !hasErrors(issues), issues }
    }),
    handle(contract.listBranchesRoute, async ({ project, query, request: { signal } }) => {
      const { rows, next } = await withinTime(signal, (signal) => branchesOf(deps, { ...query, project, signal }))
      return new Page({ branches: rows }, next)
    }),
    handle(contract.listCommitsRoute, async ({ project, query, request: { signal } }) => {
      const { rows, next, ref, sha } = await withinTime(signal, (signal) =>
        commitsOf(deps, { ...query, project, signal }),
      )
      return new Page({ ref, sha, commits: rows }, next)
    }),
    handle(contract.listTreeRoute, async ({ project, query, request: { signal } }) =>
      withinTime(signal, (signal) => treeOf(deps, { ...query, project, signal })),
    ),
    handle(contract.getFileRoute, async ({ project, query, request: { headers, signal } }) =>
      withinTime(signal, (signal) => fileOf(deps, { ...query, project, accept: headers.get('accept'), signal })),
    ),
    handle(contract.blameFileRoute, async ({ project, query, request: { signal } }) =>
      withinTime(signal, (signal) => blameOf(deps, { ...query, project, signal })),
    ),
    handle(contract.listPathsRoute, async ({ project, query, request: { signal } }) =>
      withinTime(signal, (signal) => pathsOf(deps, { ...query, project, signal })),
    ),
    handle(contract.searchFilesRoute, async ({ project, query, request: { signal } }) =>
      withinTime(signal, (signal) => searchFiles(deps, { ...query, project, signal })),
    ),
    handle(contract.compareRefsRoute, async ({ project, query, request: { signal } }) =>
      withinTime(signal, (signal) => compareRefs(deps, { ...query, project, signal })),
    ),
  ]
}
