/** What merging does beyond code: in data, and in words made from it. */
import { z } from 'zod'
import { manifestIssue } from './projects.ts'

const change = z.enum(['added', 'changed', 'removed'])
const changes = z.array(z.object({ name: z.string(), change }))

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
  connectors: changes,
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
export type MergeEffects = z.infer<typeof mergeEffects>
