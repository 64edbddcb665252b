/** Detects the type of a file from its bytes. Its name is not trusted. */

/** Images without scripts, which excludes SVG. */
const imageTypes = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'] as const
type ImageType = (typeof imageTypes)[number]

export function contentTypeOf(content: Uint8Array): string {
  const begin = Buffer.from(content.buffer, content.byteOffset, Math.min(content.byteLength, 16)).toString('latin1')
  if (begin.startsWith('\x89PNG\r\n\x1a\n')) return 'image/png'
  if (begin.startsWith('\xff\xd8\xff')) return 'image/jpeg'
  if (/^GIF8[79]a/.test(begin)) return 'image/gif'
  if (/^RIFF[^]{4}WEBP/.test(begin)) return 'image/webp'
  if (begin.startsWith('%PDF-')) return 'application/pdf'
  return textOf(content) === null ? 'application/octet-stream' : 'text/plain'
}

export function isShownImage(contentType: string): contentType is ImageType {
  return (imageTypes as readonly string[]).includes(contentType)
}

/** Null unless the content is UTF-8 text. */
export function textOf(content: Uint8Array): string | null {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(content)
    return text.includes('\0') ? null : text
  } catch (error) {
    if (error instanceof TypeError) return null
    throw error
  }
}
