import { command } from '../../command.ts'
import type { Context } from '../../context.ts'
import { Refusal } from '../../errors.ts'
import { branchesThere, fetchBranch, gatewayOf, repositoryHere, says } from '../../gateway.ts'
import { currentBranch, git } from '../../git.ts'
import { bold, green } from '../../output.ts'
import { quote } from '../../shell.ts'
import type { ChangeRequest } from '../../wire.ts'
import { crArg, resolveChangeRequest } from './find.ts'
import { shortSha } from './words.ts'

export const checkout = command({
  summary: 'Fetch the head branch of a change request and switch to it',
  about: [
    'The commits come through the project, so nothing but being signed in is needed. A local branch of that name is only ever fast-forwarded; commits of your own are never dropped.',
  ],
  scope: 'project',
  args: { cr: crArg },
  flags: { branch: { kind: 'text', summary: 'Name of the local branch (default: the head branch)', value: 'name' } },
  examples: ['svc cr checkout 3', 'svc cr checkout 3 --branch try-it'],
  async run(ctx, { args, flags }) {
    const top = await repositoryHere(ctx)
    const { api, projectId } = await ctx.project()
    const cr = await resolveChangeRequest(ctx, api, projectId, args.cr)
    const sha = await fetchHead(ctx, top, cr)
    const branch = flags.branch ?? (await localName(ctx, top, cr))
    await switchTo(ctx, { top, branch, sha, cr })
    if (ctx.out.json) return ctx.out.document({ change_request: cr, branch, sha })
    ctx.out.line(green('✓ '), 'On ', bold(branch), ` at ${shortSha(sha)}, #${cr.number} ${cr.title}`)
    ctx.out.note(`${ctx.next(`svc cr diff ${cr.number}`)} · back: git switch -`)
  },
})

async function fetchHead(ctx: Context, top: string, cr: ChangeRequest): Promise<string> {
  const gateway = await gatewayOf(ctx, cr.project_id)
  const sha = (await branchesThere(ctx, { top, gateway })).get(cr.head_ref)
  if (sha === undefined)
    throw new Refusal('not_found', `The branch ${cr.head_ref} is no longer there`, {
      hint: 'What it changed can still be read.',
      next: [`svc cr diff ${cr.number}`],
    })
  ctx.out.passing(`fetching ${cr.head_ref}…`)
  await fetchBranch(ctx, { top, gateway, branch: cr.head_ref })
  ctx.out.clearPassing()
  return sha
}

/** A branch of a host may have a name that git gives no local one, such as -x. */
async function localName({ io }: Context, top: string, cr: ChangeRequest): Promise<string> {
  const usual = !cr.head_ref.startsWith('-') && cr.head_ref !== 'HEAD' && !/^[0-9a-f]{40,64}$/.test(cr.head_ref)
  const legal = usual && (await says(top, ['check-ref-format', '--branch', cr.head_ref], io.env))
  return legal ? cr.head_ref : `cr-${cr.number}`
}

async function switchTo(
  { io, out }: Context,
  { top, branch, sha, cr }: { top: string; branch: string; sha: string; cr: ChangeRequest },
): Promise<void> {
  const ref = `refs/heads/${branch}`
  if (!(await says(top, ['show-ref', '--verify', '--quiet', ref], io.env))) {
    // A name that is none is refused here, in git's words.
    await git(top, ['switch', '--quiet', '--no-track', `--create=${branch}`, sha], io.env)
    return
  }
  const isBehind = await says(top, ['merge-base', '--is-ancestor', ref, sha], io.env)
  const isAhead = await says(top, ['merge-base', '--is-ancestor', sha, ref], io.env)
  if (!isBehind && !isAhead)
    throw new Refusal('git_failed', `The local branch ${branch} has commits that #${cr.number} has not`, {
      hint: 'Nothing was changed. Give the change request another local name.',
      next: [`svc cr checkout ${cr.number} --branch ${quote(`cr-${cr.number}`)}`],
    })
  if ((await currentBranch(top, io.env)) !== branch) await git(top, ['switch', '--quiet', '--no-guess', branch], io.env)
  if (isBehind) await git(top, ['merge', '--quiet', '--ff-only', sha], io.env)
  else out.warn(`${branch} is ahead of #${cr.number}: it has commits that were not pushed.`)
}
