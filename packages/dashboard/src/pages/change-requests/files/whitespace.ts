import { useKept } from '../../../kept.ts'

/** Whether this person wants diffs without changes of whitespace. */
export const useIgnoreWhitespace = () => useKept('svc-diff-ignore-whitespace', false)
