import type { Flag } from '../../command.ts'

export const planFlag = {
  kind: 'choice',
  summary: 'How many sessions may be live at a time: free 3, pro 50, team 200, selfhost any number',
  choices: ['free', 'pro', 'team', 'selfhost'],
} as const satisfies Flag
