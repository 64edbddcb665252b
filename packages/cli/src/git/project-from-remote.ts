/** Finds the project of a clone by the URLs of its remotes. */
import type { Project } from '@svc/sdk'
import { uuid } from '../arguments/find-one.ts'
import { allProjects } from '../commands/projects/find.ts'
import type { Context } from '../context.ts'
import { Refusal } from '../errors.ts'
import { git } from './git.ts'

/** Null without a repository or remotes, or when no remote is of this host or of a project's repository. */
export async function projectOfRemotes(ctx: Context, isSignedIn: boolean): Promise<string | null> {
  const remotes = await remotesHere(ctx)
  if (remotes.length === 0) return null
  const here = serverOf((await ctx.host()).base)
  const atHost = gatewaysOf(remotes, new Set([here]))
  // Its id needs no list.
  if (atHost[0] !== undefined && uuid.test(atHost[0].project)) return atHost[0].project.toLowerCase()
  // Without a sign-in, the list says how to.
  if (atHost.length === 0 && !isSignedIn) return null
  const all = await allProjects(ctx.api)
  // The host may have another address in public, which clones use.
  const own = gatewaysOf(remotes, new Set([here, ...all.map(({ git_url: url }) => serverOf(url))]))
  for (const { project } of own) {
    if (uuid.test(project)) return project.toLowerCase()
    const found = all.filter(({ slug }) => slug === project)
    if (found.length > 0) return onlyOne(found, `have the slug ${project} of this clone`).project_id
  }
  const wanted = new Set(remotes.map(({ url }) => placeOf(url)).filter((place) => place !== null))
  const found = all.filter(({ repo_url: url }) => wanted.has(placeOf(url) ?? ''))
  if (found.length > 0) {
    const project = onlyOne(found, 'use the repository of this clone')
    ctx.out.note(`Project ${project.slug}, by the git remote`)
    return project.project_id
  }
  if (own[0] !== undefined) throw noProjectOf(own[0])
  return null
}

/** The remote of the clone that names this project by its id, if any. */
export async function remoteNaming(ctx: Context, projectId: string): Promise<OwnRemote | null> {
  const all = gatewaysOf(await remotesHere(ctx), null)
  return all.find(({ project }) => project.toLowerCase() === projectId) ?? null
}

/** A clone of this host belongs to a project, so no command may guess another. */
export function noProjectOf({ name, project, url }: OwnRemote, cause?: unknown): Refusal {
  return new Refusal(
    'not_found',
    `The remote ${name} of this clone is the project ${project}, and you have no such project`,
    {
      hint: 'It was renamed or deleted, or you are not a member of its account. Name its project with --project, or correct the remote.',
      next: ['svc projects ls', `git remote set-url ${name} ${url.replace(/[^/]+\/git\/?$/, '<id>/git')}`],
      cause,
    },
  )
}

function onlyOne(found: Project[], why: string): Project {
  const [project, ...others] = found
  if (project !== undefined && others.length === 0) return project
  throw new Refusal('ambiguous', `${found.length} projects ${why}`, {
    hint: 'Link this folder to one of them, or name it with --project.',
    next: found
      .slice(0, 3)
      .map(
        ({ project_id, slug }) =>
          `svc projects link ${found.filter((each) => each.slug === slug).length > 1 ? project_id : slug}`,
      ),
  })
}

interface Remote {
  name: string
  url: string
}

/** A remote that is a project of this host, by its id or slug. Its URL has no user and password. */
export interface OwnRemote extends Remote {
  project: string
}

async function remotesHere({ io }: Context): Promise<Remote[]> {
  const text = await git(io.cwd, ['config', '--get-regexp', '^remote\\..*\\.url$'], io.env).catch(noRemotes)
  return text.split('\n').flatMap((line) => {
    const [, name, url] = /^remote\.(.*)\.url (.+)$/.exec(line) ?? []
    return name === undefined || url === undefined ? [] : [{ name, url }]
  })
}

/** git exits nonzero without a repository, and without a remote. */
function noRemotes(): string {
  return ''
}

/** The remotes that are projects of these servers, or of any. */
function gatewaysOf(remotes: Remote[], servers: Set<string> | null): OwnRemote[] {
  return remotes.flatMap(({ name, url: address }) => {
    if (!/^https?:/i.test(address) || !URL.canParse(address)) return []
    const { origin, pathname } = new URL(address)
    const project = /\/v1\/projects\/([\w-]+)\/git\/?$/.exec(pathname)?.[1]
    if (project === undefined || servers?.has(serverOf(address)) === false) return []
    return [{ name, project, url: `${origin}${pathname}` }]
  })
}

/** Both names of this machine are the same server. */
function serverOf(url: string): string {
  return new URL(url).host.replace(/^localhost(?=:|$)/, '127.0.0.1')
}

/** Host and path, which identify the repository in every form of its URL. */
function placeOf(address: string): string | null {
  const scp = /^(?:[\w.-]+@)?([\w.-]+):(?!\/\/)(.+)$/.exec(address)
  const url = scp === null && URL.canParse(address) ? new URL(address) : null
  const host = scp?.[1] ?? url?.hostname
  const path = scp?.[2] ?? url?.pathname
  if (host === undefined || path === undefined) return null
  return `${host.toLowerCase()}/${path.replace(/^\/+|\/+$/g, '').replace(/\.git$/, '')}`
}
