/** Suggests how to push a branch that exists only in this clone. */
import { ServiceError } from '@svc/contract/errors'
import type { Context } from '../../context.ts'
import { Guided } from '../../errors.ts'
import { currentBranch, pushRemoteOf } from '../../git/git.ts'
import { says } from '../../git/gateway.ts'
import { quote } from '../../arguments/shell-word.ts'

/** The same error, plus the command that pushes the head if the repository lacks it. */
export async function guideUnpushed(ctx: Context, head: string, error: unknown): Promise<unknown> {
  if (!(error instanceof ServiceError) || error.code !== 'ref_not_found' || error.detail.ref !== head) return error
  return new Guided(error, await pushFirst(ctx, head))
}

export async function pushFirst({ io }: Context, head: string): Promise<{ hint: string; next: string[] }> {
  const isHere = await says(io.cwd, ['show-ref', '--verify', '--quiet', `refs/heads/${head}`], io.env)
  if (!isHere) return { hint: 'Check its name.', next: ['svc branches ls'] }
  const isCurrent = (await currentBranch(io.cwd, io.env)) === head
  const remote = await remoteFor(io, head)
  if (remote !== null)
    return {
      hint: 'The branch exists only in this clone: push it first.',
      next: [`git push ${quote(remote)} ${isCurrent ? 'HEAD' : quote(head)}`],
    }
  return {
    hint: 'The branch exists only in this clone, which has no remote origin: svc ship pushes its commits and opens the change request.',
    next: [...(isCurrent ? [] : [`git switch ${quote(head)}`]), 'svc ship --no-merge'],
  }
}

async function remoteFor(io: Context['io'], head: string): Promise<string | null> {
  for (const remote of [await pushRemoteOf(io, head), 'origin'])
    if (remote !== null && (await says(io.cwd, ['remote', 'get-url', remote], io.env))) return remote
  return null
}
