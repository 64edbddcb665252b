import type { ManifestTrigger, MergeEffects } from '@svc/contract'

/** One sentence each; what goes wrong first, then what begins by itself, then the rest. */
export function effectWords(effects: MergeEffects, triggers: ManifestTrigger[]): string[] {
  const leaks = effects.secrets_added.map((words) => `${words}.`)
  if (!effects.applies) return [...leaks, 'Nothing beyond code: the base is not the default branch.']
  const errors = effects.manifest_issues.filter(({ severity }) => severity === 'error')
  const plain = (noun: string, changes: { name: string; change: string }[], more = '') =>
    changes.map(({ name, change }) => `${noun} ${name} is ${change}${change === 'removed' ? '' : more}.`)
  return [
    ...leaks,
    ...errors.map(({ path, message, line }) => `svc.toml${line === null ? '' : `:${line}`}: ${path} ${message}.`),
    ...effects.secrets_missing.map((name) => `Secret ${name} is needed and not set.`),
    ...effects.triggers.map(({ slug, change }) => `Trigger ${slug} is ${change}${schedule(slug, change, triggers)}.`),
    ...effects.apps.map(
      ({ slug, change }) => `App ${slug} is ${change}${change === 'changed' ? ' and redeployed' : ''}.`,
    ),
    ...plain('Skill', effects.skills, ', for sessions started after the merge'),
    ...plain('Agent', effects.agents, ', for sessions started after the merge'),
    ...plain('Connector', effects.connectors),
    ...plain('Channel', effects.channels),
    ...plain('Check', effects.checks),
    ...effects.settings.map((key) => `Setting ${key} is changed, for sessions started after the merge.`),
  ]
}

function schedule(slug: string, change: string, triggers: ManifestTrigger[]): string {
  const trigger = triggers.find((one) => one.slug === slug)
  if (trigger === undefined || change === 'removed' || change === 'disabled') return ''
  if (!trigger.enabled) return ', and is disabled'
  if (trigger.type === 'webhook') return ': its webhook starts sessions'
  return `: it starts sessions at ${trigger.cron ?? trigger.run_at ?? ''} ${trigger.timezone}`
}
