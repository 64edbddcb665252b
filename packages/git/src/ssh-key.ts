export type PrivateKey = { kind: 'key'; key: string } | { kind: 'refused'; reason: string }

const shape = /^-----BEGIN ((?:[A-Z0-9]+ )*)PRIVATE KEY-----\n([\s\S]+)\n-----END \1PRIVATE KEY-----$/

export function looksLikePrivateKey(text: string): boolean {
  return /-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----/.test(text)
}

/** A private key as ssh wants to read it: with line feeds, and one at the end. */
export function readPrivateKey(text: string): PrivateKey {
  const key = text.replaceAll('\r\n', '\n').trim()
  const [, type = '', body = ''] = shape.exec(key) ?? []
  if (body === '') return { kind: 'refused', reason: 'is no private key as ssh-keygen writes it' }
  const locked = { kind: 'refused' as const, reason: 'is locked by a passphrase; give a key without one' }
  if (type === 'ENCRYPTED ' || /^Proc-Type: 4,ENCRYPTED$/m.test(body)) return locked
  if (!/^[A-Za-z0-9+/=\n]+$/.test(body)) return { kind: 'refused', reason: 'is no private key as ssh-keygen writes it' }
  if (type === 'OPENSSH ') {
    const cipher = cipherOf(Buffer.from(body, 'base64'))
    if (cipher === null) return { kind: 'refused', reason: 'is a private key that was cut or changed' }
    if (cipher !== 'none') return locked
  }
  return { kind: 'key', key: `${key}\n` }
}

/** The first field of the openssh-key-v1 format. */
function cipherOf(bytes: Buffer): string | null {
  const magic = 'openssh-key-v1\0'
  if (bytes.subarray(0, magic.length).toString('latin1') !== magic || bytes.length < magic.length + 4) return null
  const length = bytes.readUInt32BE(magic.length)
  return length > 64 ? null : bytes.subarray(magic.length + 4, magic.length + 4 + length).toString('latin1')
}
