import { ServiceError } from '@svc/contract'

/**
 * A branch can be a symbolic ref, such as another name of the default branch. A merge into that name would bypass the
 * permissions and the merge queue of the branch itself, so a base has to be a real branch.
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
