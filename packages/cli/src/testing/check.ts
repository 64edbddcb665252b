import type { ChangeRequestChecks, Check } from '@svc/contract/routes/checks'

export const aCheck = (changes: Partial<Check> = {}): Check => ({
  ...{ name: 'unit', command: 'npm test', status: 'passed', run_id: '77777777-7777-4777-8777-777777777777' },
  ...{ attempt: 1, exit_code: 0, reason: null, created_at: '2026-11-21T11:00:00.000Z' },
  ...{ started_at: '2026-11-21T11:00:01.000Z', ended_at: '2026-11-21T11:00:31.000Z' },
  ...changes,
})

export const theChecks = (changes: Partial<ChangeRequestChecks> = {}): ChangeRequestChecks => ({
  ...{ state: 'passed', reason: null, base_sha: 'b'.repeat(40), head_sha: 'a'.repeat(40), tree_sha: 'd'.repeat(40) },
  checks: [aCheck()],
  ...changes,
})

export const checkAnswers = {
  getChecks: () => theChecks(),
  rerunChecks: () => theChecks({ state: 'running', checks: [aCheck({ status: 'queued', ended_at: null })] }),
  readCheckLog: () => ({
    check: aCheck(),
    lines: [{ at: '2026-11-21T11:00:02.000Z', stream: 'output', text: '12 tests passed' }],
    truncated: false,
  }),
}
