import { count } from '@svc/contract/count'
import { ServiceError } from '@svc/contract/errors'
import { sizeText } from '@svc/contract/schemas/quotas'
import type { Project, ProjectDeletion } from '@svc/sdk'
import { command } from '../../arguments/command.ts'
import { uuid } from '../../arguments/find-one.ts'
import { limitFlag } from '../../arguments/limit.ts'
import { openPage, projectPage, webFlag } from '../../browser/dashboard.ts'
import { findLinkPath, removeLink } from '../../config/link-file.ts'
import type { Context } from '../../context.ts'
import { Refusal } from '../../errors.ts'
import { confirm } from '../../terminal/ask.ts'
import { bold, dim, green } from '../../terminal/output.ts'
import { findDeleted, projectNamed, resolveProject } from './find.ts'

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
    else printProject(ctx, project, await homeOf(ctx, project))
  },
})

/** Null where a server runs alone or is of an earlier version, and for callers who may not see it. */
async function homeOf({ api }: Context, { project_id: projectId }: Project): Promise<string | null> {
  try {
    return (await api.get('/v1/projects/{projectId}/home', { path: { projectId } })).server
  } catch (error) {
    if (error instanceof ServiceError && ['forbidden', 'not_found'].includes(error.code)) return null
    throw error
  }
}

export function printProject({ out }: Pick<Context, 'out'>, project: Project, home: string | null = null): void {
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
    ['home server', home],
    ['created', out.time(project.created_at)],
    ['id', project.project_id],
  ])
}

export const open = command({
  summary: 'Open the page of a project in the browser',
  about: ["Also prints the URL to stdout. SVC_DASHBOARD_URL overrides the dashboard's URL."],
  scope: 'project',
  args: {
    project: { summary: 'Id or slug of the project (default: the linked one)', names: 'project', optional: true },
  },
  examples: ['svc projects open', 'svc projects open my-app'],
  async run(ctx, { args }) {
    const project = await projectNamed(ctx, args.project)
    await openPage(ctx, projectPage(project.slug))
  },
})

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

export const unlink = command({
  summary: 'Remove the link of this folder, or of the nearest linked one above it',
  scope: 'nothing',
  examples: ['svc projects unlink', 'svc projects unlink --json'],
  async run({ io, out }) {
    // Only needs the path: an unreadable file can still be removed.
    const path = await findLinkPath(io.cwd)
    if (path !== null) await removeLink(path)
    if (out.json) out.document({ removed: path })
    else if (path === null) out.note('No linked folder found here or above.')
    else out.line(green('✓ '), `Removed ${path}`)
  },
})

export const webhook = command({
  summary: 'Show the webhook to set up on the git host, for immediate updates after a push',
  about: [
    'For owners and admins: a URL, and the secret that signs its calls. --rotate creates the first or another secret; the previous one becomes invalid. A managed repository needs no webhook.',
  ],
  scope: 'project',
  flags: { rotate: { kind: 'switch', summary: 'Create a secret' } },
  examples: ['svc projects webhook', 'svc projects webhook --rotate', 'svc projects webhook --json'],
  async run({ out, project, next }, { flags }) {
    const found = flags.rotate
      ? await project.post('/host-webhook/rotate', { once: true })
      : await project.get('/host-webhook')
    if (out.json) return out.document(found)
    if (flags.rotate)
      out.progress(green('✓ '), 'Created a secret. Enter it on the git host: earlier secrets are invalid.')
    out.fields([
      ['url', found.url],
      ['secret', found.secret ?? dim('none: calls are refused')],
      ['last call', found.last_call_at === null ? dim('never') : out.time(found.last_call_at)],
      ['format', found.last_sender],
    ])
    if (found.secret === null) out.note(`To create one: ${next('svc projects webhook --rotate')}`)
  },
})
