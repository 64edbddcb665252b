import type { App, AppDeploy } from '@svc/contract/routes/apps'

export const aDeploy = (changes: Partial<AppDeploy> = {}): AppDeploy => ({
  ...{ deploy_id: '99999999-9999-4999-8999-999999999999', number: 2, status: 'running', hash: 'b'.repeat(64) },
  ...{ commit_sha: 'c'.repeat(40), cause: 'default_branch', rollback_of: null, error: null, created_by: null },
  ...{ created_at: '2026-11-21T11:00:00.000Z', ready_at: '2026-11-21T11:00:09.000Z', ended_at: null },
  ...changes,
})

export const anApp = (changes: Partial<App> = {}): App => ({
  ...{ slug: 'site', state: 'running', url: 'http://site--app.localhost:8420', enabled: true, reason: null },
  ...{ command: 'bin/serve', static_dir: null, build: null, port: 3000, secrets: ['API_KEY'] },
  ...{ live: aDeploy(), next: null, deploys: [aDeploy()] },
  ...changes,
})

export const appAnswers = {
  listApps: () => ({ apps: [anApp()], errors: [], provider: 'local' }),
  getApp: () => anApp(),
  deployApp: () => ({ app: anApp(), deploy: aDeploy({ number: 3, status: 'queued' }) }),
  stopApp: () => anApp({ state: 'stopped', live: null }),
  rollbackApp: () => ({ app: anApp(), deploy: aDeploy({ number: 3, status: 'queued', cause: 'rollback' }) }),
  openApp: () => ({ url: 'http://site--app.localhost:8420/?svc_ticket=ticket' }),
  readAppLogs: () => ({
    deploy: aDeploy(),
    lines: [{ at: '2026-11-21T11:00:01.000Z', stream: 'run', text: 'listening' }],
    truncated: false,
  }),
}
