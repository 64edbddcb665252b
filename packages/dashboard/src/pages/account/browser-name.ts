import { parse } from 'bowser'

/** A user agent as people say it, such as `Chrome 140 on Linux`; null for one that no list has. */
export function browserName(userAgent: string): string | null {
  // The parser refuses an empty text.
  if (userAgent === '') return null
  const { browser, os } = parse(userAgent)
  // For an unknown browser the parser repeats what the text calls itself, without a system.
  if (!browser.name || os.name === undefined) return null
  const [major] = (browser.version ?? '').split('.')
  return `${[browser.name, major].filter(Boolean).join(' ')} on ${os.name}`
}
