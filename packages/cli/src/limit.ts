/** How many rows a list shows. */
export const limitMax = 1000

/** For a command that has to know whether a limit was given. */
export const limitWhenGiven = {
  kind: 'number',
  summary: 'At most this many (default: 100, at most 1000)',
  value: 'n',
  min: 1,
  max: limitMax,
  short: 'L',
} as const

export const limitFlag = { ...limitWhenGiven, usual: 100 } as const
