/** Loads no zod: the client checks names too. */

/** Names that a loader or a shell reads before any program of the service runs. */
const refusedNames =
  /^(SVC_.*|BUN_.*|LD_.*|DYLD_.*|NODE_OPTIONS|BASH_ENV|ENV|PATH|HOME|SHELL|IFS|GIT_.*|RUNTIME_CONFIG_DIR|OPENCODE_.*)$/i

export function refuseSecretName(name: string): string | null {
  if (!/^[A-Za-z_][A-Za-z0-9_]{0,127}$/.test(name))
    return 'A secret name has letters, digits and underscores, and does not start with a digit.'
  if (/^SVC_/i.test(name)) return 'Names that start with SVC_ belong to the platform.'
  if (refusedNames.test(name)) return `${name} would change how programs start, so it cannot be a secret.`
  return null
}
