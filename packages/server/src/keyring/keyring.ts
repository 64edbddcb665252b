/** Envelope encryption: AES-256-GCM under a data key per project, that key wrapped by the master key. */
import { createCipheriv, createDecipheriv, createHash, createHmac, randomBytes } from 'node:crypto'

const nonceBytes = 12
const tagBytes = 16

export interface Keyring {
  /** First 16 hex digits of the master key's hash: names the key without telling it. */
  masterKeyId: string
  newDataKey(projectId: string): Buffer
  /** `aad` names where the value lies; a sealed value moved to another row does not open. */
  seal(input: { projectId: string; dataKey: Buffer; aad: readonly (string | number)[]; value: string }): Buffer
  open(input: { projectId: string; dataKey: Buffer; aad: readonly (string | number)[]; sealed: Buffer }): string
  /** A key for one purpose, always the same for the same label. */
  derive(label: string): Buffer
}

export function makeKeyring(masterKey: Buffer): Keyring {
  const masterKeyId = createHash('sha256').update(masterKey).digest('hex').slice(0, 16)
  const wrapAad = (projectId: string) => JSON.stringify(['data key', projectId, masterKeyId])
  const unwrap = (projectId: string, wrapped: Buffer) => decrypt(masterKey, wrapped, wrapAad(projectId))
  const valueAad = (projectId: string, aad: readonly (string | number)[]) => JSON.stringify([projectId, ...aad])
  return {
    masterKeyId,
    newDataKey: (projectId) => encrypt(masterKey, randomBytes(32), wrapAad(projectId)),
    seal: ({ projectId, dataKey, aad, value }) =>
      encrypt(unwrap(projectId, dataKey), Buffer.from(value, 'utf8'), valueAad(projectId, aad)),
    open: ({ projectId, dataKey, aad, sealed }) =>
      decrypt(unwrap(projectId, dataKey), sealed, valueAad(projectId, aad)).toString('utf8'),
    derive: (label) => createHmac('sha256', masterKey).update(`svc derive v1 ${label}`).digest(),
  }
}

function encrypt(key: Buffer, value: Buffer, aad: string): Buffer {
  const nonce = randomBytes(nonceBytes)
  const cipher = createCipheriv('aes-256-gcm', key, nonce)
  cipher.setAAD(Buffer.from(aad))
  return Buffer.concat([nonce, cipher.update(value), cipher.final(), cipher.getAuthTag()])
}

function decrypt(key: Buffer, sealed: Buffer, aad: string): Buffer {
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, nonceBytes), { authTagLength: tagBytes })
  decipher.setAAD(Buffer.from(aad))
  decipher.setAuthTag(sealed.subarray(-tagBytes))
  return Buffer.concat([decipher.update(sealed.subarray(nonceBytes, -tagBytes)), decipher.final()])
}
