import { keptNow, useKept } from '../../../kept.ts'

/** src/ahead.ts looks for it, too. */
const key = 'svc-diff-ignore-whitespace'

/** Whether this person wants diffs without changes of whitespace. */
export const useIgnoreWhitespace = () => useKept(key, false)
export const ignoresWhitespace = () => keptNow(key, false)
