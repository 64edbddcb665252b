/** The effects of a merge beyond code: as data, and as sentences. */
import { z } from 'zod'
import { named } from '../route.ts'
import { manifestIssue } from '../routes/projects.ts'

const change = z.enum(['added', 'changed', 'removed'])
const changes = z.array(z.object({ name: z.string(), change }))

/** `host` includes the port unless it is the default. */
const connectorGoal = z.object({ host: z.string(), encrypted: z.boolean(), secret: z.string().nullable() })

export const mergeEffects = named('MergeEffects', {
  applies: z
    .boolean()
    .describe(
      'Whether the base is the default branch. Merging into any other branch has no effects, and the other fields are empty.',
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
  secrets_missing: z.array(z.string()).describe("Secrets that the head's manifest requires and the project lacks."),
  manifest_issues: z.array(manifestIssue),
  words: z.array(z.string()).describe('The effects as sentences, the most important first.'),
})
export type ConnectorGoal = z.infer<typeof connectorGoal>
export type MergeEffects = z.infer<typeof mergeEffects>
