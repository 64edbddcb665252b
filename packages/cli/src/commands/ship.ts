import type { ChangeRequest, Project } from '@svc/sdk'
import { chosenAccountId } from './members/account.ts'
import { ServiceError } from '@svc/contract/errors'
import { basename } from 'node:path'
import { command } from '../arguments/command.ts'
import type { Context } from '../context.ts'
import { Refusal } from '../errors.ts'
import { branchesThere, fetchBranch, type Gateway, gatewayOf, repositoryHere, says } from '../git/gateway.ts'
import { currentBranch, git } from '../git/git.ts'
import { noProjectOf, remoteNaming } from '../git/project-from-remote.ts'
import { bold, green } from '../terminal/output.ts'
import { changeRequestsOfHead } from './cr/find.ts'
import { mergeChangeRequest, printMerge } from './cr/merge.ts'
import { shortSha } from './cr/labels.ts'
import { linkFolder } from './projects/link.ts'
import type { Client, ProjectClient } from '../requests.ts'

const titleMax = 256
const subjectsMax = 50

export const ship = command({
  summary: 'Push local commits to the project and merge them; the first run creates the project',
  about: [
    'The first push fills the default branch. Later pushes go to a branch ship-<commit> with a change request that is merged at once. If that is a fast-forward, your commits keep their ids.',
    "With an agent's token, pushes the session branch and leaves the change request open: only a user can merge.",
    'This is a git push and deploys no app.',
  ],
  scope: 'project',
  flags: {
    title: { kind: 'text', summary: 'Title of the change request (default: the newest commit)', value: 'text' },
    'no-merge': { kind: 'switch', summary: 'Leave the change request open' },
  },
  examples: ['svc ship', 'svc ship --no-merge --title "Add a greeting"'],
  async run(ctx, { flags }) {
    const local = await localCommits(ctx)
    const { its, project, isNew } = await projectHere(ctx, local)
    const gateway = await gatewayOf(ctx, project.project_id)
    const place = { top: local.top, gateway }
    const tips = await branchesThere(ctx, place)
    const shipped = { project, created: isNew, sha: local.sha }
    if (tips.size === 0) {
      if (local.isShallow) throw shallow()
      await push(ctx, { ...place, project }, local.sha, project.default_branch)
      if (ctx.out.json)
        return ctx.out.document({ ...shipped, ref: project.default_branch, change_request: null, merge: null })
      ctx.out.line(
        green('✓ '),
        'Shipped ',
        bold(project.default_branch),
        ` at ${shortSha(local.sha)} to ${project.slug}`,
      )
      return sayNext(ctx, its.api)
    }
    const tip = tips.get(project.default_branch)
    const subjects = await newCommits(ctx, { ...local, ...place, project, tip })
    const who = await its.api.get('/v1/token')
    const ref = who.session_id ?? `ship-${local.sha.slice(0, 7)}`
    await push(ctx, { ...place, project }, local.sha, ref)
    const cr = await proposal(its, { project, ref, session: who.session_id, title: flags.title, subjects })
    const merged =
      flags['no-merge'] || who.session_id !== null
        ? null
        : await mergeChangeRequest(its.changeRequest(cr.cr_id), cr, undefined)
    if (ctx.out.json)
      return ctx.out.document({
        ...shipped,
        ref,
        change_request: merged?.change_request ?? cr,
        merge: merged?.merge ?? null,
      })
    if (merged === null) {
      ctx.out.line(
        green('✓ '),
        'Proposed ',
        bold(`#${cr.number} ${cr.title}`),
        ` in ${project.slug}: ${cr.head_ref} → ${cr.base_ref}`,
      )
      const isAgent = who.session_id !== null
      return ctx.out.note(`${isAgent ? 'Only a user can merge' : 'Merge it'}: ${ctx.next(`svc cr merge ${cr.number}`)}`)
    }
    printMerge(ctx, merged, project)
    if (!merged.merge.fast_forward && !merged.merge.up_to_date)
      ctx.out.note(`${project.default_branch} has commits that you lack: fetch it before you continue.`)
  },
})

async function sayNext({ out, next }: Context, api: Client): Promise<void> {
  const { model } = await api.get('/v1/ready')
  if (model === 'none')
    out.note('No model is configured on this server, so agents cannot work yet. Its owner sets one: svc models set')
  out.note(`Next: ${next('svc sessions new --prompt "<what to do>"')}`)
}

interface Local {
  top: string
  branch: string
  sha: string
  isShallow: boolean
}

/** The commits to ship. Finds every local problem before it changes anything. */
async function localCommits(ctx: Context): Promise<Local> {
  const { io } = ctx
  const top = await repositoryHere(ctx)
  const sha = (await git(top, ['rev-parse', '--verify', '--quiet', 'HEAD^{commit}'], io.env).catch(() => '')).trim()
  if (sha === '')
    throw new Refusal('nothing_to_push', 'This repository has no commits yet', {
      next: ['git add --all && git commit', 'svc ship'],
    })
  await requireSha1(top, io.env)
  const branch = await currentBranch(top, io.env)
  if (branch === null)
    throw new Refusal('git_failed', 'HEAD is detached: no branch is checked out', {
      hint: 'Create a branch for these commits first.',
      next: ['git switch --create <name>', 'svc ship'],
    })
  const status = await git(top, ['status', '--porcelain', '--untracked-files=all'], io.env)
  const left = status.split('\n').filter((line) => line !== '' && !/^\?\? \.svc\/link\.json$/.test(line))
  if (left.length > 0)
    ctx.out.warn(
      `${left.length} ${left.length === 1 ? 'change is' : 'changes are'} not committed and will not be shipped.`,
    )
  // A git before 2.15 repeats the question.
  const isShallow = (await git(top, ['rev-parse', '--is-shallow-repository'], io.env)).trim() === 'true'
  return { top, branch, sha, isShallow }
}

function shallow(why = 'an empty project needs the whole history'): Refusal {
  return new Refusal('git_failed', `This clone is shallow, and ${why}`, {
    hint: 'Fetch the rest of the history first.',
    next: ['git fetch --unshallow', 'svc ship'],
  })
}

/** git itself says of an empty project only `unexpected capabilities^{}`. An old git has no other format. */
async function requireSha1(top: string, env: Context['io']['env']): Promise<void> {
  const format = await git(top, ['rev-parse', '--show-object-format'], env).catch(() => 'sha1')
  if (format.trim() === 'sha1') return
  throw new Refusal('git_failed', 'This repository has SHA-256 objects, and projects have SHA-1', {
    hint: 'Commits get other ids in a repository with SHA-1. In a new folder, convert them, then ship from there.',
    next: [`git init && git -C ${top} fast-export --all | git fast-import && git switch <branch>`, 'svc ship'],
  })
}

/** The named or linked project, or that of the clone; otherwise creates a managed one and links it before the push. */
async function projectHere(
  ctx: Context,
  { top, branch, isShallow }: Local,
): Promise<{ its: ProjectClient; project: Project; isNew: boolean }> {
  if ((await ctx.findProject()) !== null) return { its: ctx.project, project: await existing(ctx), isNew: false }
  if (isShallow) throw shallow()
  const name = basename(top).trim().slice(0, 100) || 'project'
  const account_id = await chosenAccountId(ctx)
  const project = await ctx.api.post('/v1/projects', { once: true, body: { name, default_branch: branch, account_id } })
  const path = await linkFolder(ctx, project, top)
  ctx.out.progress('Created the project ', bold(project.slug), `, linked by ${path}`)
  return { its: ctx.api.project(project.project_id), project, isNew: true }
}

async function existing(ctx: Context): Promise<Project> {
  try {
    return await ctx.project.get('')
  } catch (error) {
    const isGone = error instanceof ServiceError && (error.code === 'not_found' || error.code === 'forbidden')
    const remote = isGone && !(await ctx.chosenProject()) ? await remoteNaming(ctx, await ctx.projectId()) : null
    throw remote === null ? error : noProjectOf(remote, error)
  }
}

interface Place {
  top: string
  gateway: Gateway
}

async function push(
  { io, out }: Context,
  { top, gateway, project }: Place & { project: Project },
  sha: string,
  branch: string,
): Promise<void> {
  out.progress(`Pushing ${shortSha(sha)} to ${branch} of ${project.slug}`)
  await git(top, ['push', '--quiet', '--', gateway.url, `${sha}:refs/heads/${branch}`], gateway.env, {
    signal: io.signal,
  })
}

/** Subjects of commits that the default branch lacks, newest first. */
async function newCommits(
  ctx: Context,
  { top, gateway, project, sha, isShallow, tip }: Place & Local & { project: Project; tip: string | undefined },
): Promise<string[]> {
  const { env } = ctx.io
  if (tip === undefined)
    throw new Refusal('not_found', `The project has no branch ${project.default_branch} to ship to`, {
      next: [`svc projects info ${project.slug}`],
    })
  if (!(await says(top, ['cat-file', '-e', `${tip}^{commit}`], env)))
    await fetchBranch(ctx, { top, gateway, branch: project.default_branch })
  const log = await git(top, ['log', '--format=%s', `--max-count=${subjectsMax}`, sha, `^${tip}`, '--'], env)
  const subjects = log.split('\n').slice(0, -1)
  if (subjects.length === 0)
    throw new Refusal('nothing_to_push', `${project.default_branch} of ${project.slug} already has all your commits`, {
      hint: 'Commit your changes first.',
    })
  if (!(await says(top, ['merge-base', sha, tip], env))) {
    if (isShallow) throw shallow(`lacks the history that it shares with ${project.default_branch} of ${project.slug}`)
    const isLinked = !(ctx.globals.project ?? env.SVC_PROJECT_ID) && (await ctx.link()) !== null
    const which = isLinked
      ? 'Is this folder linked to the right project?'
      : 'Is this the right project? Name another one with --project.'
    throw new Refusal('git_failed', `Your commits share no history with ${project.default_branch} of ${project.slug}`, {
      hint: `${which} To merge the two anyway, push a branch and open a change request.`,
      next: isLinked ? ['svc projects info', 'svc projects unlink'] : ['svc projects ls'],
    })
  }
  return subjects
}

/** Reuses the open change request of an interrupted run, or opens one. */
async function proposal(
  its: ProjectClient,
  input: {
    project: Project
    ref: string
    session: string | null
    title: string | undefined
    subjects: readonly string[]
  },
): Promise<ChangeRequest> {
  const { project, ref, session, subjects } = input
  const { default_branch: base } = project
  const open = await changeRequestsOfHead(its, ref, 'open')
  const found = open.find((cr) => cr.base_ref === base)
  if (found !== undefined) return found
  return its.post('/change-requests', {
    once: true,
    body: {
      title: input.title ?? (subjects[0]!.trim().slice(0, titleMax) || ref),
      head_ref: ref,
      base_ref: base,
      description: subjects.length > 1 ? subjects.map((subject) => `- ${subject}`).join('\n') : undefined,
      session_id: session ?? undefined,
    },
  })
}
