/** The provider's warnings: that its keys, its memory and this runtime are for tests, which is what they are for. */
export const quietened = ['info', 'warn'] as const

for (const level of quietened) {
  const say = console[level]
  console[level] = (...words: unknown[]) => {
    if (!/^(\x1b\[[\d;]+m)?oidc-provider (NOTICE|WARNING): /.test(String(words[0]))) say(...words)
  }
}
