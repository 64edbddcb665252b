import { bombs } from './bombs.ts'
import { malformed } from './malformed.ts'
import { type Hostile, programs } from './programs.ts'

export const kinds: Record<string, Hostile[]> = { programs, malformed, bombs }
export const corpus: Hostile[] = Object.values(kinds).flat()
