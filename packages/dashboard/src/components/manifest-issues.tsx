import { Notice } from '../ui/layout.tsx'

interface Issue {
  path: string
  message: string
  line: number | null
  severity: 'error' | 'warning'
}

export function ManifestIssues({ issues, bySeverity = false }: { issues: readonly Issue[]; bySeverity?: boolean }) {
  return issues.map((issue) => (
    <Notice
      key={`${issue.path} ${issue.message}`}
      tone={bySeverity && issue.severity === 'warning' ? 'warn' : 'bad'}
      title={`svc.toml${issue.line === null ? '' : `, line ${issue.line}`}: ${issue.path} ${issue.message}`}
    />
  ))
}
