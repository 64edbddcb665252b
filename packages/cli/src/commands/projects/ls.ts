import type { Project } from '@svc/sdk'
import { command } from '../../arguments/command.ts'
import { limitFlag } from '../../arguments/limit.ts'
import { green } from '../../terminal/output.ts'

export const ls = command({
  summary: 'List the projects you can see, newest first',
  scope: 'host',
  flags: {
    limit: limitFlag,
    deleted: { kind: 'switch', summary: 'Deleted projects that you can restore' },
  },
  examples: ['svc projects ls', 'svc projects ls --deleted', 'svc projects ls --json'],
  async run({ out, link, api }, { flags }) {
    const { limit, deleted } = flags
    const { data, cursor } = await api.page('/v1/projects', {
      query: { limit, ...(deleted ? { deleted: 'true' as const } : {}) },
    })
    if (out.json) return out.document(data)
    if (data.length === 0 && deleted) return out.note('No deleted projects that you can restore.')
    if (data.length === 0) return out.note('No projects yet. Create one with svc projects create, or try svc tour.')
    const linked = (await link().catch(() => null))?.project_id
    out.table(data, [
      { title: '', of: (project) => (project.project_id === linked ? green('*') : '') },
      { title: 'SLUG', of: (project) => project.slug },
      { title: 'REPOSITORY', of: (project) => (project.managed ? 'managed' : project.repo_url), shrink: true },
      { title: 'BRANCH', of: (project) => project.default_branch },
      ...(deleted
        ? [
            { title: 'DELETED', of: (project: Project) => out.time(project.deleted_at ?? '') },
            { title: 'KEPT UNTIL', of: (project: Project) => (project.purge_at ?? '').slice(0, 10) },
          ]
        : [{ title: 'CREATED', of: (project: Project) => out.time(project.created_at) }]),
      ...(out.terminal && !deleted ? [] : [{ title: 'ID', of: (project: Project) => project.project_id }]),
    ])
    if (cursor !== null) out.note(`There are more: --limit ${Math.min(1000, limit * 10)}`)
  },
})
