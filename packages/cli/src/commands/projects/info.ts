import type { Project } from '@svc/sdk'
import { command } from '../../arguments/command.ts'
import type { Context } from '../../context.ts'
import { openPage, projectPage, webFlag } from '../../browser/dashboard.ts'
import { bold } from '../../terminal/output.ts'
import { projectNamed } from './find.ts'

export const info = command({
  summary: 'Show a project',
  scope: 'project',
  args: {
    project: { summary: 'Id or slug of the project (default: the linked one)', names: 'project', optional: true },
  },
  flags: { web: webFlag },
  examples: ['svc projects info', 'svc projects info my-app --json'],
  async run(ctx, { args, flags }) {
    const project = await projectNamed(ctx, args.project)
    if (flags.web) return openPage(ctx, projectPage(project.slug))
    if (ctx.out.json) ctx.out.document(project)
    else printProject(ctx, project)
  },
})

export function printProject({ out }: Pick<Context, 'out'>, project: Project): void {
  out.line(bold(project.slug), project.name === project.slug ? '' : `  ${project.name}`)
  out.fields([
    ['repository', project.managed ? 'managed by svc' : project.repo_url],
    ['git', project.git_url],
    ['default branch', project.default_branch],
    ['agents merge', project.settings.agent_merge],
    ['manifest gate', project.settings.manifest_gate],
    ['config dir', project.config_dir],
    ['public key', project.ssh_public_key],
    ['git host', project.settings.git_host === 'auto' ? null : project.settings.git_host],
    ['created', out.time(project.created_at)],
    ['id', project.project_id],
  ])
}
