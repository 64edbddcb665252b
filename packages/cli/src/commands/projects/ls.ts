import { replyPage } from '../../api.ts'
import { command } from '../../command.ts'
import { limitFlag } from '../../limit.ts'
import { green } from '../../output.ts'
import type { Project } from '../../wire.ts'

export const ls = command({
  summary: 'List the projects you can see, newest first',
  scope: 'host',
  args: {},
  flags: { limit: limitFlag },
  examples: ['svc projects ls', 'svc projects ls --json'],
  async run(ctx, { flags }) {
    const { limit } = flags
    const api = await ctx.api()
    const { data, cursor } = await replyPage(api.GET('/v1/projects', { params: { query: { limit } } }))
    const { out } = ctx
    if (out.json) return out.document(data)
    if (data.length === 0) return out.note('No projects yet. svc projects create makes one, svc tour shows one.')
    const linked = (await ctx.link().catch(() => null))?.project_id
    out.table(data, [
      { title: '', of: (project) => (project.project_id === linked ? green('*') : '') },
      { title: 'SLUG', of: (project) => project.slug },
      { title: 'REPOSITORY', of: (project) => (project.managed ? 'managed' : project.repo_url), shrink: true },
      { title: 'BRANCH', of: (project) => project.default_branch },
      { title: 'CREATED', of: (project) => out.time(project.created_at) },
      ...(out.terminal ? [] : [{ title: 'ID', of: (project: Project) => project.project_id }]),
    ])
    if (cursor !== null) out.note(`There are more: --limit ${Math.min(1000, limit * 10)}`)
  },
})
