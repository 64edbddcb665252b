import { generateKeyPairSync, randomBytes } from 'node:crypto'

type PrivateKey = { kind: 'key'; key: string } | { kind: 'refused'; reason: string }

const shape = /^-----BEGIN ((?:[A-Z0-9]+ )*)PRIVATE KEY-----\n([\s\S]+)\n-----END \1PRIVATE KEY-----$/

export function looksLikePrivateKey(text: string): boolean {
  return /-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----/.test(text)
}

/** A private key in the form that ssh reads: with line feeds, and one at the end. */
export function readPrivateKey(text: string): PrivateKey {
  const key = text.replaceAll('\r\n', '\n').trim()
  const [, type = '', body = ''] = shape.exec(key) ?? []
  if (body === '') return { kind: 'refused', reason: 'is not a private key in the format of ssh-keygen' }
  const locked = { kind: 'refused' as const, reason: 'has a passphrase; use a key without one' }
  if (type === 'ENCRYPTED ' || /^Proc-Type: 4,ENCRYPTED$/m.test(body)) return locked
  if (!/^[A-Za-z0-9+/=\n]+$/.test(body))
    return { kind: 'refused', reason: 'is not a private key in the format of ssh-keygen' }
  if (type === 'OPENSSH ') {
    const cipher = cipherOf(Buffer.from(body, 'base64'))
    if (cipher === null) return { kind: 'refused', reason: 'is a truncated or changed private key' }
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

/** A new ed25519 key pair in ssh-keygen's format: the private key without a passphrase, the public key as one line. */
export function makeSshKeyPair(comment: string): { privateKey: string; publicKey: string } {
  const jwk = generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' })
  const [seed, point] = [Buffer.from(jwk.d as string, 'base64url'), Buffer.from(jwk.x as string, 'base64url')]
  const type = 'ssh-ed25519'
  const publicBytes = Buffer.concat([field(type), field(point)])
  // Two equal numbers, which tell a reader that decryption worked.
  const check = randomBytes(4)
  const open = Buffer.concat([check, check, publicBytes, field(Buffer.concat([seed, point])), field(comment)])
  const padding = Buffer.from(Array.from({ length: (8 - (open.length % 8)) % 8 }, (_, n) => n + 1))
  const one = Buffer.from([0, 0, 0, 1])
  const whole = [Buffer.from('openssh-key-v1\0'), field('none'), field('none'), field(''), one, field(publicBytes)]
  const body = Buffer.concat([...whole, field(Buffer.concat([open, padding]))]).toString('base64')
  const lines = body.match(/.{1,70}/g) ?? []
  return {
    privateKey: `-----BEGIN OPENSSH PRIVATE KEY-----\n${lines.join('\n')}\n-----END OPENSSH PRIVATE KEY-----\n`,
    publicKey: `${type} ${publicBytes.toString('base64')} ${comment}`,
  }
}

function field(content: string | Buffer): Buffer {
  const bytes = Buffer.from(content as string)
  const length = Buffer.alloc(4)
  length.writeUInt32BE(bytes.length)
  return Buffer.concat([length, bytes])
}
