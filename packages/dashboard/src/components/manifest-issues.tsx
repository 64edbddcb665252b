import { Notice } from '../ui/notice.tsx'

interface Issue {
  path: string
  message: string
  line: number | null
}

/** What is wrong with svc.toml, a notice each; nothing when nothing is. */
export function ManifestIssues({ issues }: { issues: readonly Issue[] }) {
  return issues.map((issue) => (
    <Notice
      key={`${issue.path} ${issue.message}`}
      title={`svc.toml${issue.line === null ? '' : `, line ${issue.line}`}: ${issue.path} ${issue.message}`}
    />
  ))
}
