/** Finds the project of a clone by the URLs of its remotes. */
import { allProjects } from '../commands/projects/find.ts'
import type { Context } from '../context.ts'
import { Refusal } from '../errors.ts'
import { git } from './git.ts'

/** Null without a repository or remotes, or when the service knows none of them. */
export async function projectOfRemotes(ctx: Context, isSignedIn: boolean): Promise<string | null> {
  const remotes = await remotesHere(ctx)
  if (remotes.length === 0) return null
  const { base } = await ctx.host()
  for (const remote of remotes) {
    const id = gatewayId(remote, base)
    if (id !== null) return id
  }
  if (!isSignedIn) return null
  const wanted = new Set(remotes.map(placeOf).filter((place) => place !== null))
  const found = (await allProjects(ctx.api)).filter(({ repo_url: url }) => wanted.has(placeOf(url) ?? ''))
  if (found.length > 1)
    throw new Refusal('ambiguous', `${found.length} projects use the repository of this clone`, {
      hint: 'Link this folder to one of them, or name it with --project.',
      next: found.slice(0, 3).map(({ slug }) => `svc projects link ${slug}`),
    })
  const [project] = found
  if (project === undefined) return null
  ctx.out.note(`Project ${project.slug}, by the git remote`)
  return project.project_id
}

async function remotesHere({ io }: Context): Promise<string[]> {
  const text = await git(io.cwd, ['config', '--get-regexp', '^remote\\..*\\.url$'], io.env).catch(noRemotes)
  return text.split('\n').flatMap((line) => line.split(' ').slice(1, 2))
}

/** git exits nonzero without a repository, and without a remote. */
function noRemotes(): string {
  return ''
}

function gatewayId(remote: string, base: string): string | null {
  const id = /^\/v1\/projects\/([0-9a-f-]{36})\/git\/?$/
  return remote.startsWith(base) ? (id.exec(remote.slice(base.length))?.[1] ?? null) : null
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
