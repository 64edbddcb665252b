/** What merging does beyond code: in data, and in words made from it. */
import { z } from 'zod'
import { manifestIssue } from './projects.ts'

const change = z.enum(['added', 'changed', 'removed'])
const changes = z.array(z.object({ name: z.string(), change }))

/** `host` has its port where it is not the usual one. */
const connectorGoal = z.object({ host: z.string(), encrypted: z.boolean(), secret: z.string().nullable() })

export const mergeEffects = z.object({
  /** False: the base is not the default branch, which alone is acted upon, and everything else here is empty. */
  applies: z.boolean(),
  triggers: z.array(
    z.object({ slug: z.string(), change: z.enum(['added', 'changed', 'removed', 'enabled', 'disabled']) }),
  ),
  /** `redeployed`: its entry stays, and what it is built from changes. */
  apps: z.array(z.object({ slug: z.string(), change: z.enum(['added', 'changed', 'removed', 'redeployed']) })),
  skills: changes,
  agents: changes,
  /** Whom agents come to speak with, and the secret each is sent, by its name. `went` is null for a new one, `goes` for one that is removed. */
  connectors: z.array(
    z.object({ name: z.string(), change, goes: connectorGoal.nullable(), went: connectorGoal.nullable() }),
  ),
  channels: changes,
  checks: changes,
  /** Settings of `[env]`, `[runtime]` and `[sandbox]` that sessions started later get. */
  settings: z.array(z.string()),
  /** Values of the project's secrets that stand in what is merged: file, line and name, never the value. */
  secrets_added: z.array(z.string()),
  /** Secrets the manifest of the head needs and the project does not have. */
  secrets_missing: z.array(z.string()),
  manifest_issues: z.array(manifestIssue),
  /** The same, one sentence each, the most telling first. */
  words: z.array(z.string()),
})
export type ConnectorGoal = z.infer<typeof connectorGoal>
export type MergeEffects = z.infer<typeof mergeEffects>
