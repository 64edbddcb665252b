/** What a driver says of this machine, for a person who wants to know why sessions do not start, or how strong their walls are. */
export interface Finding {
  name: string
  /** `weak` works, with less than there could be; `missing` does not. */
  state: 'good' | 'weak' | 'missing'
  says: string
  /** The line that mends it, when there is one. */
  mend: string | null
}

export const good = (name: string, says: string): Finding => ({ name, state: 'good', says, mend: null })
export const weak = (name: string, says: string, mend: string | null = null): Finding => ({
  name,
  state: 'weak',
  says,
  mend,
})
export const missing = (name: string, says: string, mend: string | null = null): Finding => ({
  name,
  state: 'missing',
  says,
  mend,
})
