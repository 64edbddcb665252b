import { ServiceError } from '@svc/contract'

/**
 * A branch can be a symbolic ref: another name of the default branch, say. Whoever merges into that name merges into the
 * branch itself, past the rules of who may, and past the queue of its merges. So only a branch itself can be a base.
 */
export function refuseAliasAsBase(aliases: Map<string, string>, baseRef: string, code: 'invalid' | 'conflict'): void {
  const target = aliases.get(baseRef)
  if (target === undefined) return
  const message = `${JSON.stringify(baseRef)} is only another name of ${JSON.stringify(target)} in the repository.`
  throw new ServiceError(code, message, {
    hint: `Open the change request into ${JSON.stringify(target)} itself.`,
    detail: { ref: baseRef, target, issues: [{ path: 'base_ref', message: `is another name of ${target}` }] },
  })
}
