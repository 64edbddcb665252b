/** The secrets that `svc.toml` needs, and the entries that need them. */
import { type Manifest, type SecretConsumer, secretsNamedIn } from '@svc/contract'

export interface SecretUse {
  by: SecretConsumer
  name: string
}

export function secretUses({ env, triggers, apps, connectors }: Manifest): SecretUse[] {
  const uses: { by: SecretConsumer; name: string | null }[] = [
    ...env.required.map((name) => ({ by: { kind: 'env' as const, slug: null }, name })),
    ...triggers
      .filter(({ type }) => type === 'webhook')
      .map(({ slug, secret_env: name }) => ({ by: { kind: 'trigger' as const, slug }, name })),
    ...apps
      .filter(({ enabled }) => enabled)
      .flatMap(({ slug, env }) => secretsNamedIn(env).map((name) => ({ by: { kind: 'app' as const, slug }, name }))),
    ...connectors.map(({ slug, auth }) => ({
      by: { kind: 'connector' as const, slug },
      name: auth?.secret_env ?? null,
    })),
  ]
  return uses.filter((use): use is SecretUse => use.name !== null)
}

/** Each needed secret once, in the order of `svc.toml`. */
export function neededSecrets(manifest: Manifest): { name: string; needed_by: SecretConsumer[] }[] {
  const needed = Map.groupBy(secretUses(manifest), ({ name }) => name)
  return [...needed].map(([name, uses]) => ({ name, needed_by: uses.map(({ by }) => by) }))
}
