export const limitMax = 1000

/** For commands that must know whether the limit was given. */
export const limitWhenGiven = {
  kind: 'number',
  summary: 'Maximum number of rows (default: 100, at most 1000)',
  value: 'n',
  min: 1,
  max: limitMax,
  short: 'L',
} as const

export const limitFlag = { ...limitWhenGiven, usual: 100 } as const
