import { commit } from '@svc/git/testing'
import { detectDefaultBranch } from '../projects/default-branch.ts'
import { getProject } from '../projects/store.ts'
import type { SessionApp } from '../sessions/testing.ts'

export const rerunChecks = (app: () => SessionApp, open: () => Promise<string>) => ({
  action: 'check.rerun',
  async prepare() {
    const { repo, deps, project, request } = app()
    await commit(repo, 'main', { 'svc.toml': '[[checks]]\nname = "unit"\ncommand = "true"\n' })
    await detectDefaultBranch(deps, (await getProject(deps.db, project.project_id))!)
    const path = `${await open()}/checks/rerun`
    return () => request('POST', path, { body: {} })
  },
})
