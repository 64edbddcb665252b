/** AES-256-GCM as nonce, ciphertext and tag. `aad` binds a value to its place, so that a moved one does not decrypt. */
import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto'

const nonceBytes = 12
const tagBytes = 16

export function encrypt(key: Buffer, value: Buffer, aad: string): Buffer {
  const nonce = randomBytes(nonceBytes)
  const cipher = createCipheriv('aes-256-gcm', key, nonce)
  cipher.setAAD(Buffer.from(aad))
  return Buffer.concat([nonce, cipher.update(value), cipher.final(), cipher.getAuthTag()])
}

/** Throws when the key, the `aad` or any bit differs. */
export function decrypt(key: Buffer, sealed: Buffer, aad: string): Buffer {
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, nonceBytes), { authTagLength: tagBytes })
  decipher.setAAD(Buffer.from(aad))
  decipher.setAuthTag(sealed.subarray(-tagBytes))
  return Buffer.concat([decipher.update(sealed.subarray(nonceBytes, -tagBytes)), decipher.final()])
}

/** The first 16 hex digits of a key's hash, which identify the key without revealing it. */
export function keyId(key: Buffer): string {
  return createHash('sha256').update(key).digest('hex').slice(0, 16)
}
