/** Sanitizes foreign strings for a terminal: control characters become visible markers. */

// C0 and DEL, C1, the bidi controls, line separators, and invisible characters: with them a title could look like
// another title.
const unsafe =
  /[\x00-\x1f\x7f-\x9f\u00ad\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]|\p{Cs}/gu

/** For one line: line breaks and tabs become markers, too. */
export function safe(text: string): string {
  return text.replace(unsafe, marker)
}

/** For text of several lines: keeps line breaks and tabs. */
export function safeBlock(text: string): string {
  return text.replaceAll('\r\n', '\n').replace(unsafe, keepLayout)
}

/** For a patch: keeps line breaks and tabs, and marks a carriage return at the end of a line. */
export function safePatch(text: string): string {
  return text.replace(unsafe, keepLayout)
}

/** JSON without terminal controls in its strings; it parses to the same value. */
export function safeJson(value: unknown, indent?: number): string {
  // Strings have their line breaks escaped, so a line break is one between fields.
  return JSON.stringify(value, null, indent).replace(unsafe, (character) =>
    character === '\n' ? character : character.split('').map(escape).join(''),
  )
}

function escape(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
}

function keepLayout(character: string): string {
  return character === '\n' || character === '\t' ? character : marker(character)
}

function marker(character: string): string {
  const code = character.codePointAt(0)!
  if (code < 0x20) return String.fromCharCode(0x2400 + code)
  if (code === 0x7f) return '␡'
  if (code >= 0xd800 && code <= 0xdfff) return '�'
  return `<U+${code.toString(16).toUpperCase().padStart(4, '0')}>`
}
