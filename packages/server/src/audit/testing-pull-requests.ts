import type { Project } from '@svc/contract'
import { makeRepo, serveGitHub } from '@svc/git/testing'
import { testProject } from '../change-requests/testing.ts'
import type { TestApp } from '../testing.ts'

/** A pull request on a host that is closed after the pull request was opened. */
export const pullRequest = (app: () => TestApp) => ({
  action: 'change_request.pull_request',
  async prepare() {
    const repo = await makeRepo({ main: { a: '1' } })
    const host = await serveGitHub(repo.dir)
    host.tokens.set('of-the-project', 'both')
    app().deps.config.github.apis[host.host] = host.apiUrl
    const body = { repo_url: host.repoUrl, git_token: 'of-the-project' }
    const { body: project } = await app().request<Project>('POST', '/v1/projects', { body })
    const at = testProject(app(), { project, repo })
    const { cr_id } = await at.open('work', { b: '2' })
    return async () => {
      const reply = await app().request('POST', at.path(cr_id, 'pull-request'))
      await host.close()
      await repo.remove()
      return reply
    }
  },
})
