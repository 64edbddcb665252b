/** Replaces hidden and direction-changing characters with marks. Otherwise one name could look like another. */

// C0 without tab and line breaks, DEL and C1, bidi controls, line separators, invisible characters, and joiners beside ASCII,
// where no script needs them. packages/cli/src/terminal/safe.ts marks the same characters.
const unseen =
  /[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb]|\u034f|[\u{e0000}-\u{e0fff}]|(?<=[!-~])[\u200c\u200d]|[\u200c\u200d](?=[!-~])/gu

/** Returns the same string when there is nothing to mark. */
export function visible(text: string): string {
  return text.replace(unseen, mark)
}

/** For a path or a name, which has one line: line breaks and tabs are marked too. */
export function visibleName(text: string): string {
  return visible(text).replace(/[\t\r\n]/g, mark)
}

function mark(character: string): string {
  const code = character.codePointAt(0)!
  if (code < 0x20) return String.fromCharCode(0x2400 + code)
  return code === 0x7f ? '␡' : `<U+${code.toString(16).toUpperCase().padStart(4, '0')}>`
}
