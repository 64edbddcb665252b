import { UsageError } from './errors.ts'

export const limitFlag = {
  kind: 'text',
  summary: 'At most this many (default: 100, at most 1000)',
  value: 'n',
} as const

export function limitOf(text: string | undefined): number {
  if (text === undefined) return 100
  const limit = Number(text)
  if (Number.isInteger(limit) && limit >= 1 && limit <= 1000) return limit
  throw new UsageError(`--limit is a number from 1 to 1000; not ${JSON.stringify(text)}`)
}
