import type { Project } from '@svc/sdk'
import { pick } from '../../terminal/ask.ts'
import { command } from '../../arguments/command.ts'
import type { Context } from '../../context.ts'
import { Refusal } from '../../errors.ts'
import { excludeFromCommits, writeLink } from '../../config/link-file.ts'
import { bold } from '../../terminal/output.ts'
import { allProjects, resolveProject } from './find.ts'

export const link = command({
  summary: 'Link this folder to a project (.svc/link.json)',
  scope: 'host',
  args: {
    project: {
      summary: 'Id or slug of the project (default on a terminal: a picker)',
      names: 'project',
      optional: true,
    },
  },
  examples: ['svc projects link my-app', 'svc projects link'],
  async run(ctx, { args }) {
    const project = args.project === undefined ? await pickProject(ctx) : await resolveProject(ctx.api, args.project)
    const path = await linkFolder(ctx, project)
    ctx.out.done({ path, project }, 'Linked to ', bold(project.slug))
    ctx.out.note(`${path} names the project and its host; it contains no token.`)
  },
})

async function pickProject(ctx: Context): Promise<Project> {
  const projects = ctx.interactive ? await allProjects(ctx.api) : []
  if (ctx.interactive && projects.length === 0)
    throw new Refusal('not_found', 'No projects yet', { next: ['svc projects create --name <text> --link'] })
  return pick(ctx, {
    question: 'Which project?',
    missing: '<project>',
    corrected: 'svc projects link <id-or-slug>',
    choices: projects.map((project) => ({
      value: project,
      label: project.slug,
      hint: project.managed ? 'managed' : project.repo_url,
    })),
  })
}

/** Writes the link and keeps it out of the repository's commits. */
export async function linkFolder(
  ctx: Pick<Context, 'host' | 'io'>,
  project: Project,
  folder = ctx.io.cwd,
): Promise<string> {
  const host = await ctx.host()
  const path = await writeLink(folder, {
    project_id: project.project_id,
    account_id: project.account_id,
    host: host.name,
    host_url: host.base,
  })
  await excludeFromCommits(folder, ctx.io.env)
  return path
}
