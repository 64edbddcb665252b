/** `svc.toml`: what the service reads of it so far. Unknown keys and wrong values are issues, never a crash: the file is the agents' to edit. */
import { parse, TomlError } from 'smol-toml'
import { z } from 'zod'
import { type SandboxSettings, sandboxSettings } from './sandbox-settings.ts'

export const manifestPath = 'svc.toml'
export const manifestBytesMax = 256 * 1024
export const defaultConfigDir = '.svc/runtime'

export interface ManifestIssue {
  path: string
  message: string
  severity: 'error' | 'warning'
  line: number | null
  column: number | null
}

const secretName = z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/, 'is not a secret name')
/** Stays inside the work tree: relative, no `..`, no option-like start. */
const relativeDir = z
  .string()
  .regex(/^[A-Za-z0-9._][A-Za-z0-9._/-]{0,199}$/, 'is not a relative folder')
  .refine((dir) => !dir.split('/').includes('..'), 'leaves the repository')

const env = z.object({
  required: z.array(secretName).max(200).default([]),
  optional: z.array(secretName).max(200).default([]),
})
const runtime = z.object({ config_dir: relativeDir.default(defaultConfigDir), model: z.string().max(200).optional() })

export interface Manifest {
  env: { required: string[]; optional: string[] }
  runtime: { config_dir: string; model?: string | undefined }
  sandbox: SandboxSettings
}

export const emptyManifest: Manifest = {
  env: { required: [], optional: [] },
  runtime: { config_dir: defaultConfigDir },
  sandbox: {},
}

/** Each table is read on its own, so that a mistake in one leaves the others in force. */
export function parseManifest(text: string): { manifest: Manifest; issues: ManifestIssue[] } {
  if (new TextEncoder().encode(text).length > manifestBytesMax)
    return { manifest: emptyManifest, issues: [issue('', 'is larger than 256 KiB')] }
  let document: Record<string, unknown>
  try {
    document = parse(text)
  } catch (error) {
    if (!(error instanceof TomlError)) throw error
    return {
      manifest: emptyManifest,
      issues: [{ ...issue('', error.message.split('\n')[0] ?? 'is not TOML'), line: error.line, column: error.column }],
    }
  }
  const issues: ManifestIssue[] = []
  const table = <T>(name: string, schema: z.ZodType<T>, fallback: T): T => {
    const parsed = schema.safeParse(document[name] ?? {})
    if (parsed.success) return parsed.data
    for (const { path, message } of parsed.error.issues) issues.push(issue([name, ...path].join('.'), message))
    return fallback
  }
  const manifest: Manifest = {
    env: table('env', env, emptyManifest.env),
    runtime: table('runtime', runtime, emptyManifest.runtime),
    sandbox: table('sandbox', sandboxSettings, emptyManifest.sandbox),
  }
  for (const name of [...manifest.env.required, ...manifest.env.optional])
    if (name.startsWith('SVC_'))
      issues.push({ ...issue(`env.${name}`, 'names that start with SVC_ belong to the platform'), severity: 'warning' })
  return { manifest, issues }
}

function issue(path: string, message: string): ManifestIssue {
  return { path, message, severity: 'error', line: null, column: null }
}
