/** `[apps.env]`: texts in which `${NAME}` is replaced by the secret of that name. Loads no zod: the client reads manifests too. */

const place = /\$\{([^{}]*)\}/g

/** Every name in the texts, each once, in alphabetical order. Includes invalid names. */
export function secretsNamedIn(env: Record<string, string>): string[] {
  const names = Object.values(env).flatMap((text) => [...text.matchAll(place)].map((match) => match[1]!))
  return [...new Set(names)].sort()
}

/** Replaces once, so a value that looks like a placeholder stays text. Reports and omits secrets that are not set. */
export function fillAppEnv(
  env: Record<string, string>,
  secrets: Record<string, string>,
): { env: Record<string, string>; missing: string[] } {
  const filled = Object.entries(env).map(([name, text]) => [
    name,
    text.replace(place, (_, secret: string) => (Object.hasOwn(secrets, secret) ? secrets[secret]! : '')),
  ])
  return {
    env: Object.fromEntries(filled) as Record<string, string>,
    missing: secretsNamedIn(env).filter((name) => !Object.hasOwn(secrets, name)),
  }
}
