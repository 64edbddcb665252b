import { command } from '../../arguments/command.ts'
import { Refusal } from '../../errors.ts'
import { bold } from '../../terminal/output.ts'
import { uuid } from '../../arguments/find-one.ts'
import { findDeleted } from './find.ts'

export const restore = command({
  summary: 'Restore a deleted project',
  about: ['It gets its former slug, or the next free one. Its sessions stay stopped, and missed schedules do not run.'],
  scope: 'host',
  args: { project: { summary: 'Id or former slug of the project', names: 'project' } },
  examples: ['svc projects restore my-app', 'svc projects restore 0198f3a2-7c1e-7d4b-9e5f-2a6b8c0d1e3f'],
  async run({ out, api }, { args }) {
    const { project: named } = args
    const projectId = uuid.test(named) ? named.toLowerCase() : (await findDeleted(api, named))?.project_id
    if (projectId === undefined)
      throw new Refusal('not_found', `No deleted project matches ${JSON.stringify(named)}`, {
        next: ['svc projects ls --deleted'],
      })
    const project = await api.post('/v1/projects/{projectId}/restore', { path: { projectId } })
    out.done(project, 'Restored ', bold(project.slug))
    out.note('Its sessions are stopped: svc sessions restart starts them.')
  },
})
