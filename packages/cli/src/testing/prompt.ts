import type { Prompt } from '@svc/sdk'

/** One that waits for the agent. */
export const aPrompt = (changes: Partial<Prompt> = {}): Prompt => ({
  prompt_id: '77777777-7777-4777-8777-777777777777',
  ...{ text: 'Then run the tests.', status: 'accepted', error: null, created_by: null, attachments: [] },
  ...{ agent_name: 'build', model: null },
  ...{ created_at: '2026-11-21T11:59:00.000Z', settled_at: null },
  ...changes,
})
