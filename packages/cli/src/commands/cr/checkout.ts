import type { ChangeRequest } from '@svc/sdk'
import { command } from '../../arguments/command.ts'
import type { Context } from '../../context.ts'
import { Refusal } from '../../errors.ts'
import { branchesThere, fetchBranch, gatewayOf, repositoryHere, says } from '../../git/gateway.ts'
import { currentBranch, git } from '../../git/git.ts'
import { bold } from '../../terminal/output.ts'
import { quote } from '../../arguments/shell-word.ts'
import { crArg, changeRequestAt } from './find.ts'
import { shortSha } from './labels.ts'

export const checkout = command({
  summary: 'Fetch the head branch of a change request and switch to it',
  about: [
    'Fetches the commits from the project, so you need no access to the git host. Only fast-forwards an existing local branch; never drops your own commits.',
  ],
  scope: 'project',
  args: { cr: crArg },
  flags: {
    branch: { kind: 'text', summary: 'Name of the local branch (default: the head branch)', value: 'name', short: 'b' },
  },
  examples: ['svc cr checkout 3', 'svc cr checkout 3 --branch try-it'],
  async run(ctx, { args, flags }) {
    const top = await repositoryHere(ctx)
    const { cr } = await changeRequestAt(ctx, args.cr)
    const sha = await fetchHead(ctx, top, cr)
    const branch = flags.branch ?? (await localName(ctx, top, cr))
    await switchTo(ctx, { top, branch, sha, cr })
    ctx.out.done(
      { change_request: cr, branch, sha },
      'On ',
      bold(branch),
      ` at ${shortSha(sha)}, #${cr.number} ${cr.title}`,
    )
    ctx.out.note(`${ctx.next(`svc cr diff ${cr.number}`)} · back: git switch -`)
  },
})

async function fetchHead(ctx: Context, top: string, cr: ChangeRequest): Promise<string> {
  const gateway = await gatewayOf(ctx, cr.project_id)
  const sha = (await branchesThere(ctx, { top, gateway })).get(cr.head_ref)
  if (sha === undefined)
    throw new Refusal('not_found', `The branch ${cr.head_ref} no longer exists`, {
      hint: 'Its diff is still available.',
      next: [`svc cr diff ${cr.number}`],
    })
  ctx.out.passing(`fetching ${cr.head_ref}…`)
  await fetchBranch(ctx, { top, gateway, branch: cr.head_ref })
  ctx.out.clearPassing()
  return sha
}

/** A branch of the host may have a name that git refuses locally, such as -x. */
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
    // git itself rejects an invalid name here.
    await git(top, ['switch', '--quiet', '--no-track', `--create=${branch}`, sha], io.env)
    return
  }
  const isBehind = await says(top, ['merge-base', '--is-ancestor', ref, sha], io.env)
  const isAhead = await says(top, ['merge-base', '--is-ancestor', sha, ref], io.env)
  if (!isBehind && !isAhead)
    throw new Refusal('git_failed', `The local branch ${branch} has commits that #${cr.number} lacks`, {
      hint: 'Nothing changed. Choose another name for the local branch.',
      next: [`svc cr checkout ${cr.number} --branch ${quote(`cr-${cr.number}`)}`],
    })
  if ((await currentBranch(top, io.env)) !== branch) await git(top, ['switch', '--quiet', '--no-guess', branch], io.env)
  if (isBehind) await git(top, ['merge', '--quiet', '--ff-only', sha], io.env)
  else out.warn(`${branch} is ahead of #${cr.number}: it has unpushed commits.`)
}
