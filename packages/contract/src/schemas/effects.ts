/** The effects of a merge beyond code: as data, and as sentences. */
import { z } from 'zod'
import { named, timestamp } from '../route.ts'
import { manifestIssue } from '../routes/projects.ts'

const change = z.enum(['added', 'changed', 'removed'])
const changes = z.array(z.object({ name: z.string(), change }))

/** `host` includes the port unless it is the default. */
const connectorGoal = z.object({ host: z.string(), encrypted: z.boolean(), secret: z.string().nullable() })

/** How one entry of svc.toml changes. */
const effectDetail = named('EffectDetail', {
  kind: z.enum(['trigger', 'app', 'connector', 'channel', 'check', 'setting']),
  name: z.string().describe('The slug or name of the entry; the table and key of a setting, such as `sandbox.egress`.'),
  change: z.enum(['added', 'changed', 'removed', 'enabled', 'disabled', 'redeployed']),
  fields: z
    .array(z.object({ field: z.string(), before: z.string().nullable(), after: z.string().nullable() }))
    .describe('What differs, as texts. `before` is null for what is new, `after` for what is removed.'),
  next_fire_at: z.array(timestamp).describe('The next three times of a trigger that is on after the merge.'),
  timezone: z.string().optional().describe('Of its schedule, if there are next times. Older servers omit it.'),
  confirm: z
    .array(z.string())
    .describe('What a person should confirm before the merge, such as a secret that goes to a new host.'),
})
export type EffectDetail = z.infer<typeof effectDetail>

export const mergeEffects = named('MergeEffects', {
  applies: z
    .boolean()
    .describe(
      'Whether the base is the default branch. Merging into any other branch has no effects, and the other fields are empty, except `secrets_added` and `manifest_issues`.',
    ),
  triggers: z.array(
    z.object({ slug: z.string(), change: z.enum(['added', 'changed', 'removed', 'enabled', 'disabled']) }),
  ),
  apps: z
    .array(z.object({ slug: z.string(), change: z.enum(['added', 'changed', 'removed', 'redeployed']) }))
    .describe('`redeployed`: the entry is unchanged, but the files it is built from change.'),
  skills: changes,
  agents: changes,
  connectors: z
    .array(z.object({ name: z.string(), change, goes: connectorGoal.nullable(), went: connectorGoal.nullable() }))
    .describe(
      'The hosts that agents may call, and the name of the secret each one gets. `went` is null for a new connector, `goes` for a removed one.',
    ),
  channels: changes,
  checks: changes,
  settings: z.array(z.string()).describe('Settings of `[env]`, `[runtime]` and `[sandbox]` that later sessions get.'),
  secrets_added: z
    .array(z.string())
    .describe('Where the merge adds the value of a secret: file, line and name, never the value.'),
  secrets_missing: z
    .array(z.string())
    .describe('Secrets that an entry of svc.toml needs after the merge and not before, and that the project lacks.'),
  manifest_issues: z.array(manifestIssue),
  details: z.array(effectDetail).describe('Each changed entry of svc.toml, before and after.'),
  words: z.array(z.string()).describe('The effects as sentences, the most important first.'),
})
export type ConnectorGoal = z.infer<typeof connectorGoal>
export type MergeEffects = z.infer<typeof mergeEffects>
