/** One part of the driver's report on this machine, for people. */
export interface Finding {
  name: string
  /** `weak` works with weaker isolation; `missing` does not work. */
  state: 'good' | 'weak' | 'missing'
  says: string
  /** A command that fixes it, if one exists. */
  mend: string | null
}

const finding =
  (state: Finding['state']) =>
  (name: string, says: string, mend: string | null = null): Finding => ({ name, state, says, mend })

export const good = finding('good')
export const weak = finding('weak')
export const missing = finding('missing')
