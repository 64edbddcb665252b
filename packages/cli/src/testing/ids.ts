export const ids = {
  account: '11111111-1111-4111-8111-111111111111',
  user: '22222222-2222-4222-8222-222222222222',
  project: '33333333-3333-4333-8333-333333333333',
  session: '44444444-4444-4444-8444-444444444444',
  cr: '55555555-5555-4555-8555-555555555555',
  sandbox: '66666666-6666-4666-8666-666666666666',
  token: '77777777-7777-4777-8777-777777777777',
} as const
export const sha = (digit: string) => digit.repeat(40)

export const now = Date.parse('2026-11-21T12:00:00.000Z')
export const at = (secondsAgo: number) => new Date(now - secondsAgo * 1000).toISOString()
