/** Envelope encryption: data keys per project encrypt values, the root key wraps data keys and derives others, the master key wraps the root key. */
import { createHmac, randomBytes } from 'node:crypto'
import { decrypt, encrypt, keyId } from './cipher.ts'

export interface Keyring {
  /** Identifies the root key. A project records by it which key wraps its data key. */
  rootKeyId: string
  newDataKey(projectId: string): Buffer
  /** `aad` names the row of the value, so that a sealed value in another row does not open. */
  seal(input: { projectId: string; dataKey: Buffer; aad: readonly (string | number)[]; value: string }): Buffer
  open(input: { projectId: string; dataKey: Buffer; aad: readonly (string | number)[]; sealed: Buffer }): string
  /** Derives a key for one purpose; a label always gives the same key. */
  derive(label: string): Buffer
}

/** `masterKey` opens data keys that the master key still wraps; null if there are none. */
export function makeKeyring(rootKey: Buffer, masterKey: Buffer | null = null): Keyring {
  const unwrap = (projectId: string, wrapped: Buffer): Buffer => {
    if (masterKey === null) return unwrapDataKey(rootKey, projectId, wrapped)
    try {
      return unwrapDataKey(rootKey, projectId, wrapped)
    } catch {
      // The row may have been read before its move, so the tag decides which key wraps it.
      return unwrapByMasterKey(masterKey, projectId, wrapped)
    }
  }
  const valueAad = (projectId: string, aad: readonly (string | number)[]) => JSON.stringify([projectId, ...aad])
  return {
    rootKeyId: keyId(rootKey),
    newDataKey: (projectId) => wrapDataKey(rootKey, projectId, randomBytes(32)),
    seal: ({ projectId, dataKey, aad, value }) =>
      encrypt(unwrap(projectId, dataKey), Buffer.from(value, 'utf8'), valueAad(projectId, aad)),
    open: ({ projectId, dataKey, aad, sealed }) =>
      decrypt(unwrap(projectId, dataKey), sealed, valueAad(projectId, aad)).toString('utf8'),
    derive: (label) => createHmac('sha256', rootKey).update(`svc derive v1 ${label}`).digest(),
  }
}

export function wrapDataKey(rootKey: Buffer, projectId: string, dataKey: Buffer): Buffer {
  return encrypt(wrappingKey(rootKey), dataKey, dataKeyAad(projectId, rootKey))
}

export function unwrapDataKey(rootKey: Buffer, projectId: string, wrapped: Buffer): Buffer {
  return decrypt(wrappingKey(rootKey), wrapped, dataKeyAad(projectId, rootKey))
}

/** A data key that the master key wraps directly. */
export function unwrapByMasterKey(masterKey: Buffer, projectId: string, wrapped: Buffer): Buffer {
  return decrypt(masterKey, wrapped, dataKeyAad(projectId, masterKey))
}

export function wrapRootKey(masterKey: Buffer, rootKey: Buffer): Buffer {
  return encrypt(masterKey, rootKey, rootKeyAad(masterKey, keyId(rootKey)))
}

export function unwrapRootKey(masterKey: Buffer, rootKeyId: string, wrapped: Buffer): Buffer {
  return decrypt(masterKey, wrapped, rootKeyAad(masterKey, rootKeyId))
}

/** Separates encryption from derivation: both never use the same key bytes. */
function wrappingKey(rootKey: Buffer): Buffer {
  return createHmac('sha256', rootKey).update('svc wrap v1').digest()
}

function dataKeyAad(projectId: string, wrappedBy: Buffer): string {
  return JSON.stringify(['data key', projectId, keyId(wrappedBy)])
}

function rootKeyAad(masterKey: Buffer, rootKeyId: string): string {
  return JSON.stringify(['root key', rootKeyId, keyId(masterKey)])
}
