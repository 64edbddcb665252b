/** `[apps.env]`: texts, in which `${NAME}` stands for the project's secret of that name. Loads no zod: the client reads manifests too. */

const place = /\$\{([^{}]*)\}/g

/** Every name that stands in the texts, each once, in order of the alphabet. Also what cannot be one. */
export function secretsNamedIn(env: Record<string, string>): string[] {
  const names = Object.values(env).flatMap((text) => [...text.matchAll(place)].map((match) => match[1]!))
  return [...new Set(names)].sort()
}

/** Filled once, so that a value that looks like a place stays text. What is not set is told and left out. */
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
