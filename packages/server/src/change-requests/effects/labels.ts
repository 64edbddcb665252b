import type { ConnectorGoal, ManifestTrigger, MergeEffects } from '@svc/contract'
import { scheduleWords } from '../../projects/schedule-words.ts'

/** One sentence per effect: first problems, then what starts by itself, then the rest. */
export function effectLabels(effects: MergeEffects, triggers: ManifestTrigger[]): string[] {
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
    ...effects.connectors.map(connectorLabel),
    ...plain('Channel', effects.channels),
    ...plain('Check', effects.checks),
    ...effects.settings.map((key) => `Setting ${key} is changed, for sessions started after the merge.`),
  ]
}

/** A reviewer has to see where a secret is sent, and that it was sent elsewhere before. */
function connectorLabel({ name, change, goes, went }: MergeEffects['connectors'][number]): string {
  if (goes === null) return `Connector ${name} is ${change}.`
  const sent = goes.secret === null ? 'no secret is sent' : `secret ${goes.secret} is sent`
  const where = `to ${goes.host}${goes.encrypted ? '' : ', unencrypted'}`
  const before = went === null ? '' : elsewhere(goes, went)
  return `Connector ${name} is ${change}: ${sent} ${where}${before}.`
}

function elsewhere(goes: ConnectorGoal, went: ConnectorGoal): string {
  const was = [
    ...(went.secret === goes.secret ? [] : [went.secret === null ? 'no secret' : `secret ${went.secret}`]),
    ...(went.host === goes.host ? [] : [`to ${went.host}`]),
    ...(went.encrypted === goes.encrypted ? [] : [went.encrypted ? 'encrypted' : 'unencrypted']),
  ]
  return was.length === 0 ? '' : `; until now ${was.join(', ')}`
}

function schedule(slug: string, change: string, triggers: ManifestTrigger[]): string {
  const trigger = triggers.find((one) => one.slug === slug)
  if (trigger === undefined || change === 'removed' || change === 'disabled') return ''
  if (!trigger.enabled) return ', and is disabled'
  if (trigger.type === 'webhook') return ': its webhook starts sessions'
  const when = scheduleWords(trigger) ?? ''
  return `: it starts sessions ${when.charAt(0).toLowerCase()}${when.slice(1)} (${trigger.timezone})`
}
