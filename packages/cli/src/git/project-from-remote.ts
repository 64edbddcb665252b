/** Finds the project of a clone by the URLs of its remotes. */
import type { Project } from '@svc/sdk'
import { uuid } from '../arguments/find-one.ts'
import { allProjects } from '../commands/projects/find.ts'
import type { Context } from '../context.ts'
import { Refusal } from '../errors.ts'
import { currentBranch, git, pushRemoteOf } from './git.ts'

/**
 * If the remotes name several projects, that of the remote to which the current branch pushes. Null without a repository
 * or remotes, or when no remote is of this host or of a project's repository.
 */
export async function projectOfRemotes(ctx: Context, isSignedIn: boolean): Promise<string | null> {
  const remotes = await remotesHere(ctx)
  if (remotes.length === 0) return null
  const here = serverOf((await ctx.host()).base)
  const atHost = gatewaysOf(remotes, new Set([here]))
  const [name, ...others] = new Set(atHost.map(({ project }) => project.toLowerCase()))
  // Its id needs no list, unless another remote may name another project.
  if (name !== undefined && others.length === 0 && atHost.length === remotes.length && uuid.test(name)) return name
  // Without a sign-in, the list says how to.
  if (atHost.length === 0 && !isSignedIn) return null
  const all = await allProjects(ctx.api)
  const named = projectsOf(remotes, all, here)
  const [meant, ...more] = commonOf(named)
  if (meant !== undefined && more.length === 0) {
    // A URL of a repository does not show the name of its project.
    if (named.every(({ own }) => own === null)) ctx.out.note(`Project ${slugOf(meant, all)}, by the git remote`)
    return meant
  }
  const pushedTo = named.length > 1 ? await pushRemoteOf(ctx.io, await currentBranch(ctx.io.cwd, ctx.io.env)) : null
  const pushed = named.filter(({ name: remote }) => remote === pushedTo)
  const [chosen, ...rest] = commonOf(pushed)
  if (chosen !== undefined && rest.length === 0) {
    ctx.out.note(`Project ${slugOf(chosen, all)}, by the remote ${pushedTo}, to which this branch pushes`)
    return chosen
  }
  const unclear = pushed.length > 0 ? pushed : named
  if (unclear.length === 0) return null
  throw unclearProject(unclear, all)
}

/** A remote with the ids of the projects that it may be. `own`: it is the URL of a project, which may be gone. */
interface Named {
  name: string
  own: OwnRemote | null
  ids: string[]
}

function projectsOf(remotes: Remote[], all: Project[], here: string): Named[] {
  // The host may have another address in public, which clones use.
  const servers = new Set([here, ...all.map(({ git_url: url }) => serverOf(url))])
  return remotes.flatMap((remote): Named[] => {
    const { name, url } = remote
    const [own = null] = gatewaysOf([remote], servers)
    if (own !== null && uuid.test(own.project)) return [{ name, own, ids: [own.project.toLowerCase()] }]
    const place = placeOf(url)
    const found = all.filter((project) =>
      own === null ? place !== null && placeOf(project.repo_url ?? '') === place : project.slug === own.project,
    )
    return own === null && found.length === 0 ? [] : [{ name, own, ids: found.map(({ project_id: id }) => id) }]
  })
}

/** The projects that all of these remotes may be. */
function commonOf([first, ...others]: Named[]): string[] {
  return first?.ids.filter((id) => others.every((other) => other.ids.includes(id))) ?? []
}

function slugOf(id: string, all: Project[]): string {
  return all.find((project) => project.project_id === id)?.slug ?? id
}

function unclearProject(named: Named[], all: Project[]): Refusal {
  const common = commonOf(named)
  const own = named.find((remote) => remote.own !== null)?.own ?? null
  if (common.length > 0) {
    const why = own === null ? 'use the repository of this clone' : `have the slug ${own.project} of this clone`
    const found = all.filter(({ project_id: id }) => common.includes(id))
    return new Refusal('ambiguous', `${found.length} projects ${why}`, {
      hint: 'Link this folder to one of them, or name it with --project.',
      next: linksTo(found),
    })
  }
  if (own !== null && named.every((remote) => remote.own?.project === own.project)) return noProjectOf(own)
  const list = named.map(
    ({ name, own: its, ids: [id] }) => `${name} is ${id === undefined ? its?.project : slugOf(id, all)}`,
  )
  return new Refusal('ambiguous', `The remotes of this clone are different projects: ${list.join(', ')}`, {
    hint: 'Name the project with --project, link this folder to it, or tell git to which remote this branch pushes.',
    next: [
      ...linksTo(all.filter(({ project_id: id }) => named.some(({ ids }) => ids.includes(id)))),
      'git config remote.pushDefault <remote>',
    ],
  })
}

function linksTo(found: Project[]): string[] {
  return found
    .slice(0, 3)
    .map(
      ({ project_id, slug }) =>
        `svc projects link ${found.filter((each) => each.slug === slug).length > 1 ? project_id : slug}`,
    )
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
