/** Hides the provider's warnings that its keys and storage are only for tests. */
export const quietened = ['info', 'warn'] as const

for (const level of quietened) {
  const say = console[level]
  console[level] = (...words: unknown[]) => {
    if (!/^(\x1b\[[\d;]+m)?oidc-provider (NOTICE|WARNING): /.test(String(words[0]))) say(...words)
  }
}
