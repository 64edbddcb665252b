import type { Output } from '../../terminal/output.ts'

interface When {
  type: 'cron' | 'webhook'
  cron: string | null
  run_at: string | null
  timezone: string
}

export function when({ type, cron, run_at, timezone }: When): string {
  if (type === 'webhook') return 'webhook'
  return cron === null ? `once, ${run_at ?? ''} ${timezone}` : `${cron} ${timezone}`
}

interface Issue {
  path: string
  message: string
  severity: 'error' | 'warning'
  line: number | null
  column: number | null
}

function issueLine({ path, message, line, column }: Issue): string {
  const place = line === null ? 'svc.toml' : `svc.toml:${line}:${column ?? 1}`
  return `${place}  ${path === '' ? 'the file' : path} ${message}`
}

/** For a person: the document of a program has them. */
export function warnOfErrors(out: Output, issues: Issue[]): void {
  if (out.json) return
  for (const issue of issues) out.warn(issueLine(issue))
}

export const slugArg = { summary: 'Slug of the trigger in svc.toml' } as const
