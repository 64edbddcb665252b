import type { Flag } from '../../arguments/command.ts'

export const planFlag = {
  kind: 'choice',
  summary: 'Limit of live sessions: free 3, pro 50, team 200, selfhost unlimited',
  choices: ['free', 'pro', 'team', 'selfhost'],
} as const satisfies Flag
