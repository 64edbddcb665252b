/** The git gateway of a project as a remote for the user's own git. */
import type { Context } from '../context.ts'
import { Refusal } from '../errors.ts'
import { git } from './git.ts'
import { tokenFor } from '../config/hosts.ts'

export interface Gateway {
  url: string
  /** The environment of a git that may use it. */
  env: Record<string, string | undefined>
}

/** Answers only `get`; ignores what git would store or erase. */
const helper = `!f() { test "$1" = get && printf 'username=x-access-token\\npassword=%s\\n' "$SVC_GIT_PASSWORD"; }; f`

/**
 * The token is only in the environment of that git: other users can read arguments, and files remain. The helper offers
 * it only to the origin it belongs to, and the user's own helpers, which might store it, are disabled.
 * are not asked.
 */
export async function gatewayOf(ctx: Pick<Context, 'io' | 'host' | 'config'>, projectId: string): Promise<Gateway> {
  const host = await ctx.host()
  const token = tokenFor(host, { env: ctx.io.env, config: await ctx.config() })
  const { env } = ctx.io
  const before = Number(env.GIT_CONFIG_COUNT ?? 0) || 0
  const settings = [
    ['credential.helper', ''],
    [`credential.${host.origin}.helper`, helper],
    ['credential.interactive', 'false'],
    ['core.askPass', ''],
    ['http.followRedirects', 'false'],
  ]
  return {
    // Built from the token's host: a URL in a response must not receive the token.
    url: `${host.base}/v1/projects/${projectId}/git`,
    env: {
      ...env,
      SVC_GIT_PASSWORD: token ?? '',
      GIT_ASKPASS: '',
      SSH_ASKPASS: '',
      GIT_CONFIG_COUNT: String(before + settings.length),
      ...Object.fromEntries(
        settings.flatMap(([key, value], i) => [
          [`GIT_CONFIG_KEY_${before + i}`, key],
          [`GIT_CONFIG_VALUE_${before + i}`, value],
        ]),
      ),
    },
  }
}

export async function repositoryHere({ io }: Pick<Context, 'io'>): Promise<string> {
  const top = await git(io.cwd, ['rev-parse', '--show-toplevel'], io.env).catch((error: unknown) => {
    throw new Refusal('no_repository', 'This folder is not in a git repository', {
      hint: 'Run this in your clone, or create a repository with git init.',
      next: ['git init && git add --all && git commit'],
      cause: error,
    })
  })
  return top.replace(/\n$/, '')
}

/** Fetches one branch and returns its tip. Changes none of the user's refs. */
export async function fetchBranch(
  { io }: Pick<Context, 'io'>,
  { top, gateway, branch }: { top: string; gateway: Gateway; branch: string },
): Promise<void> {
  const quiet = ['--quiet', '--no-tags', '--no-recurse-submodules', '--no-write-fetch-head']
  await git(top, ['fetch', ...quiet, '--', gateway.url, `refs/heads/${branch}`], gateway.env, { signal: io.signal })
}

export async function branchesThere(
  { io }: Pick<Context, 'io'>,
  { top, gateway }: { top: string; gateway: Gateway },
): Promise<Map<string, string>> {
  const listed = await git(top, ['ls-remote', '--heads', '--', gateway.url], gateway.env, { signal: io.signal })
  return new Map(
    listed
      .split('\n')
      .filter(Boolean)
      .map((line) => {
        const tab = line.indexOf('\t')
        return [line.slice(tab + 1 + 'refs/heads/'.length), line.slice(0, tab)]
      }),
  )
}

/** Whether git exits with 0; any other result counts as no. */
export async function says(top: string, args: readonly string[], env: Gateway['env']): Promise<boolean> {
  return git(top, args, env).then(
    () => true,
    () => false,
  )
}
