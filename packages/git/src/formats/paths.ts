const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * A repository path as text. Paths are bytes; a path that is not UTF-8 gets git's own quoted form (`"caf\351.txt"`),
 * so that two different files never look alike.
 */
export function pathText(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes)
  } catch {
    return `"${Array.from(bytes, quoteByte).join('')}"`
  }
}

function quoteByte(byte: number): string {
  const char = String.fromCharCode(byte)
  if (char === '"' || char === '\\') return `\\${char}`
  return byte < 0x20 || byte >= 0x7f ? `\\${byte.toString(8).padStart(3, '0')}` : char
}

const escapes: Record<string, number> = { a: 7, b: 8, t: 9, n: 10, v: 11, f: 12, r: 13, '"': 34, '\\': 92 }

/** The bytes of a path as git prints it: in double quotes with escapes when unusual. Input is latin1. */
export function unquotePath(printed: string): Buffer {
  if (!printed.startsWith('"') || !printed.endsWith('"') || printed.length < 2) return Buffer.from(printed, 'latin1')
  const body = printed.slice(1, -1)
  const plain = body.replace(/\\([0-3][0-7]{2}|.)/g, (_match, escape: string) =>
    String.fromCharCode(/^\d/.test(escape) ? Number.parseInt(escape, 8) : (escapes[escape] ?? escape.charCodeAt(0))),
  )
  return Buffer.from(plain, 'latin1')
}

/** The bytes of a path from `pathText`, which quoted only non-UTF-8 paths: a file with real quotes stays itself. */
export function pathBytes(text: string): Buffer {
  const unquoted = unquotePath(Buffer.from(text).toString('latin1'))
  return pathText(unquoted) === text ? unquoted : Buffer.from(text)
}
