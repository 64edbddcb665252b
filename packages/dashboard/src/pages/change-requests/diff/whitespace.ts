/** Where this browser stores whether diffs leave out whitespace changes, and the default. */
export const ignoreWhitespace: [key: string, fallback: boolean] = ['svc-diff-ignore-whitespace', false]
