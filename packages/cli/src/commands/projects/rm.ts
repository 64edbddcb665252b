import type { Project, ProjectDeletion } from '@svc/sdk'
import { sizeText } from '@svc/contract/schemas/quotas'
import { confirm } from '../../terminal/ask.ts'
import { command } from '../../arguments/command.ts'
import { bold, green } from '../../terminal/output.ts'
import { findDeleted, resolveProject } from './find.ts'

export const rm = command({
  summary: 'Delete a project; it can be restored for thirty days',
  about: [
    'Its sessions stop and keep their unfinished work. The project is unavailable until it is restored.',
    '--purge deletes sessions, change requests, secrets and the managed repository permanently. A repository on another git host stays.',
  ],
  scope: 'host',
  args: { project: { summary: 'Id or slug of the project', names: 'project' } },
  flags: {
    purge: { kind: 'switch', summary: 'Delete permanently, even if it is already deleted' },
    yes: { kind: 'switch', summary: 'Do not ask' },
  },
  examples: ['svc projects rm my-app', 'svc projects rm my-app --purge --yes'],
  async run(ctx, { args, flags }) {
    const { purge } = flags
    const project =
      (purge ? await findDeleted(ctx.api, args.project) : null) ?? (await resolveProject(ctx.api, args.project))
    const { project_id: projectId, slug } = project
    const path = { projectId }
    const ends = await ctx.api.get('/v1/projects/{projectId}/deletion', { path })
    await confirm(ctx, {
      question: purge ? purgeQuestion(project, ends) : deleteQuestion(project, ends),
      yes: flags.yes,
      corrected: `svc projects rm ${args.project}${purge ? ' --purge' : ''} --yes`,
    })
    const { purge_at } = await ctx.api.delete('/v1/projects/{projectId}', {
      path,
      query: { purge: purge ? 'true' : undefined },
    })
    if (ctx.out.json) return ctx.out.document({ project_id: projectId, removed: true, purge_at })
    ctx.out.line(green('✓ '), purge_at === null ? 'Purged ' : 'Deleted ', bold(slug))
    if (purge_at !== null)
      ctx.out.note(`It can be restored until ${dayOf(purge_at)}: svc projects restore ${projectId}`)
    const link = await ctx.link().catch(() => null)
    if (link?.project_id === projectId) ctx.out.note('This folder is still linked to the project: svc projects unlink')
  },
})

function deleteQuestion({ slug }: Project, { live_sessions, purge_at }: ProjectDeletion): string {
  const stops = live_sessions === 0 ? '' : ` This stops ${count(live_sessions, 'session')}.`
  return `Delete ${slug}?${stops} It can be restored until ${dayOf(purge_at)}.`
}

function purgeQuestion({ slug, managed }: Project, ends: ProjectDeletion): string {
  const { unpushed_sessions: unpushed } = ends
  const work = unpushed === 0 ? '' : ` (${unpushed} with unpushed work)`
  const repository = `${managed ? 'the repository' : "the server's copy of the repository"} (${sizeText(ends.repository_bytes)})`
  return `Purge ${slug}? This permanently deletes ${count(ends.sessions, 'session')}${work}, ${count(ends.change_requests, 'change request')} and ${repository}.`
}

const dayOf = (time: string) => time.slice(0, 10)

const count = (n: number, noun: string) => `${n} ${noun}${n === 1 ? '' : 's'}`
