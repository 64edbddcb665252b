import { Notice } from '../ui/notice.tsx'

interface Issue {
  path: string
  message: string
  line: number | null
}

/** One notice for each issue in svc.toml. */
export function ManifestIssues({ issues }: { issues: readonly Issue[] }) {
  return issues.map((issue) => (
    <Notice
      key={`${issue.path} ${issue.message}`}
      title={`svc.toml${issue.line === null ? '' : `, line ${issue.line}`}: ${issue.path} ${issue.message}`}
    />
  ))
}
