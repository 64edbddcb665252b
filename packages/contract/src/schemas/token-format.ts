/** `svc_pat_` tokens: 36 random base62 characters and their CRC32 in six more, so that a mistyped token is refused before the database is asked. */

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
export const tokenPrefix = 'svc_pat_'
/** Identifies one sandbox generation, never a user. */
export const sandboxKeyPrefix = 'svc_sbx_'
export const cloneCredentialPrefix = 'svc_git_'
/** Reads one project's repository for a few minutes: for a sandbox without a session. */
export const readCredentialPrefix = 'svc_read_'
export const modelKeyPrefix = 'svc_llm_'

const crcTable = new Uint32Array(256).map((_, n) => {
  let c = n
  for (let k = 0; k < 8; k++) c = c & 1 ? 0xedb88320 ^ (c >>> 1) : c >>> 1
  return c >>> 0
})

function crc32(text: string): number {
  let c = 0xffffffff
  for (let i = 0; i < text.length; i++) c = crcTable[(c ^ text.charCodeAt(i)) & 0xff]! ^ (c >>> 8)
  return (c ^ 0xffffffff) >>> 0
}

function checksum(body: string): string {
  let n = crc32(body)
  let text = ''
  for (; n > 0; n = Math.floor(n / 62)) text = alphabet[n % 62] + text
  return text.padStart(6, '0')
}

/** `bytes` are random; rejection keeps every character equally likely. */
export function base62(length: number, randomBytes: (count: number) => Uint8Array): string {
  let text = ''
  while (text.length < length) {
    for (const byte of randomBytes(length * 2)) {
      if (byte < 248 && text.length < length) text += alphabet[byte % 62]
    }
  }
  return text
}

export function makeToken(randomBytes: (count: number) => Uint8Array): string {
  const body = base62(36, randomBytes)
  return tokenPrefix + body + checksum(body)
}

export function isWellFormedToken(token: string): boolean {
  const match = /^svc_pat_([0-9A-Za-z]{36})([0-9A-Za-z]{6})$/.exec(token)
  return match !== null && checksum(match[1]!) === match[2]
}
