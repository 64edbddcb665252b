import { confirm } from '../../ask.ts'
import { reply } from '../../api.ts'
import { command } from '../../command.ts'
import { bold, green } from '../../output.ts'
import { resolveProject } from './find.ts'

export const rm = command({
  summary: 'Delete a project with its sessions, change requests and secrets',
  about: ['A repository that svc keeps is deleted too; one on another git host stays.'],
  scope: 'host',
  args: { project: { summary: 'Its id or slug', names: 'project' } },
  flags: { yes: { kind: 'switch', summary: 'Do not ask' } },
  examples: ['svc projects rm my-app', 'svc projects rm my-app --yes'],
  async run(ctx, { args, flags }) {
    const api = await ctx.api()
    const project = await resolveProject(api, args.project)
    const also = project.managed ? ', its repository included' : ''
    await confirm(ctx, {
      question: `Delete ${project.slug} with everything in it${also}?`,
      yes: flags.yes,
      corrected: `svc projects rm ${project.slug} --yes`,
    })
    const { project_id: projectId } = project
    await reply(api.DELETE('/v1/projects/{projectId}', { params: { path: { projectId } } }))
    if (ctx.out.json) return ctx.out.document({ project_id: projectId, removed: true })
    ctx.out.line(green('✓ '), 'Deleted ', bold(project.slug))
    const link = await ctx.link().catch(() => null)
    if (link?.project_id === projectId) ctx.out.note('This folder is still linked to it: svc projects unlink')
  },
})
