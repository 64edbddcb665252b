/** `[sandbox]` of `svc.toml`: from what a session's sandbox is made, and what it may use. */
import { z } from 'zod'
import { egressPatternsMax, parseEgressPattern } from './egress.ts'

const units: Record<string, number> = { '': 1, k: 1024, m: 1024 ** 2, g: 1024 ** 3, t: 1024 ** 4 }

/** Bytes of "4GiB", "512M" or "2g"; all of them in powers of 1024. Null when it is no size. */
export function bytesOf(text: string): number | null {
  const [, number, unit = ''] = /^(\d{1,7}(?:\.\d{1,3})?) ?([kmgt]?)(?:i?b)?$/i.exec(text.trim()) ?? []
  return number === undefined ? null : Math.round(Number(number) * units[unit.toLowerCase()]!)
}

const size = (smallest: string) =>
  z
    .string()
    .refine((text) => bytesOf(text) !== null, 'is no size: write it like "4GiB" or "512MiB"')
    .refine((text) => (bytesOf(text) ?? Infinity) >= bytesOf(smallest)!, `is less than ${smallest}`)

const egressPattern = z
  .string()
  .max(300)
  .superRefine((pattern, context) => {
    const parsed = parseEgressPattern(pattern)
    if (typeof parsed === 'string') context.addIssue({ code: 'custom', message: parsed })
  })

const repositoryFile = z
  .string()
  .regex(/^[A-Za-z0-9._][A-Za-z0-9._/-]{0,199}$/, 'is not a file of the repository')
  .refine((path) => !path.split('/').includes('..'), 'leaves the repository')

export const sandboxSettings = z.object({
  /** Built from the default branch by the container driver; without it `.svc/Dockerfile`, when there is one. */
  dockerfile: repositoryFile.optional(),
  /** Run once as the agent in the work tree, before the agent runtime starts. */
  setup: z.string().min(1).max(8192).optional(),
  cpu: z.number().min(0.1).max(1024).optional(),
  memory: size('512MiB').optional(),
  disk: size('64MiB').optional(),
  idle_minutes: z.int().min(1).max(43_200).optional(),
  egress: z.array(egressPattern).max(egressPatternsMax).optional(),
})
export type SandboxSettings = z.infer<typeof sandboxSettings>
