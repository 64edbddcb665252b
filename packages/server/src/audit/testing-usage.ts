import type { TestApp } from '../test-app.ts'

export const capAccountUsage = (app: () => TestApp) => ({
  action: 'account.cap',
  prepare: async () => () =>
    app().request('PATCH', `/v1/accounts/${app().owner.account_id}/usage`, { body: { model_tokens_per_month: null } }),
})
