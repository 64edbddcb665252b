/**
 * How the two ends of a link know each other. The sandbox knows the public key of its server, and the server knows the
 * public key that the sandbox made at its start. Neither is a secret, so neither can be stolen from a pod's
 * specification. Each connection derives new keys (X25519), which only those two can.
 */
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  diffieHellman,
  generateKeyPairSync,
  hkdfSync,
  type KeyObject,
  randomBytes,
  sign,
  verify,
} from 'node:crypto'
import type { Duplex } from 'node:stream'

import type { SessionKeys } from './channel.ts'
import { LinkError } from './mux.ts'

const magic = Buffer.from('svc link 1\n')
const keyBytes = 32
const signatureBytes = 64
const helloBytes = magic.length + 2 * keyBytes
const answerBytes = keyBytes + signatureBytes
const handshakeMs = 10_000

/** Signs for the server. Its public key is what the sandboxes are given. */
export interface ServerIdentity {
  publicKey: string
  sign(bytes: Buffer): Buffer
}

/** `seed` has 32 bytes and is secret. */
export function serverIdentity(seed: Buffer): ServerIdentity {
  // An Ed25519 key in PKCS 8 is this prefix and the seed.
  const der = Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), seed])
  const key = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
  return { publicKey: rawOf(createPublicKey(key)).toString('base64url'), sign: (bytes) => sign(null, bytes, key) }
}

export interface SandboxIdentity {
  publicKey: string
  privateKey: KeyObject
}

export function sandboxIdentity(): SandboxIdentity {
  const { publicKey, privateKey } = generateKeyPairSync('x25519')
  return { publicKey: rawOf(publicKey).toString('base64url'), privateKey }
}

interface Shaken {
  keys: SessionKeys
  /** Bytes that followed the handshake. */
  rest: Buffer
}

export async function shakeAsServer(wire: Duplex, server: ServerIdentity, sandboxKey: string): Promise<Shaken> {
  const { bytes: hello, rest } = await readExactly(wire, helloBytes)
  const publicKey = hello.subarray(magic.length, magic.length + keyBytes)
  if (!hello.subarray(0, magic.length).equals(magic) || publicKey.toString('base64url') !== sandboxKey)
    throw new LinkError('Another program than the sandbox answered at its address.')
  const own = generateKeyPairSync('x25519')
  const ephemeral = rawOf(own.publicKey)
  const said = Buffer.concat([hello, ephemeral])
  wire.write(Buffer.concat([ephemeral, server.sign(said)]))
  const shared = diffieHellman({ privateKey: own.privateKey, publicKey: keyFrom('X25519', publicKey) })
  const { toSandbox, toServer } = keysOf(shared, said)
  return { keys: { send: toSandbox, receive: toServer }, rest }
}

export async function shakeAsSandbox(wire: Duplex, own: SandboxIdentity, serverKey: string): Promise<Shaken> {
  const hello = Buffer.concat([magic, Buffer.from(own.publicKey, 'base64url'), randomBytes(keyBytes)])
  wire.write(hello)
  const { bytes: answer, rest } = await readExactly(wire, answerBytes)
  const ephemeral = answer.subarray(0, keyBytes)
  const said = Buffer.concat([hello, ephemeral])
  const server = keyFrom('Ed25519', Buffer.from(serverKey, 'base64url'))
  if (!verify(null, said, server, answer.subarray(keyBytes)))
    throw new LinkError('A connection did not come from the server of this sandbox.')
  const shared = diffieHellman({ privateKey: own.privateKey, publicKey: keyFrom('X25519', ephemeral) })
  const { toSandbox, toServer } = keysOf(shared, said)
  return { keys: { send: toServer, receive: toSandbox }, rest }
}

/** The salt covers both keys and the nonce of the sandbox, so no two connections share a key. */
function keysOf(shared: Buffer, said: Buffer): { toSandbox: Buffer; toServer: Buffer } {
  const salt = createHash('sha256').update(said).digest()
  const bytes = Buffer.from(hkdfSync('sha256', shared, salt, 'svc link 1', 64))
  return { toSandbox: bytes.subarray(0, 32), toServer: bytes.subarray(32) }
}

const rawOf = (key: KeyObject) => Buffer.from(key.export({ format: 'jwk' }).x!, 'base64url')

const keyFrom = (crv: string, raw: Buffer) =>
  createPublicKey({ key: { kty: 'OKP', crv, x: raw.toString('base64url') }, format: 'jwk' })

function readExactly(wire: Duplex, size: number): Promise<{ bytes: Buffer; rest: Buffer }> {
  return new Promise((resolve, reject) => {
    let held = Buffer.alloc(0)
    const settle = (act: () => void) => {
      clearTimeout(timer)
      wire.off('data', onData).off('error', onError).off('close', onClose).off('end', onClose)
      act()
    }
    const onData = (chunk: Buffer) => {
      held = Buffer.concat([held, chunk])
      if (held.length < size) return
      wire.pause()
      settle(() => resolve({ bytes: held.subarray(0, size), rest: held.subarray(size) }))
    }
    const onError = (error: Error) => settle(() => reject(error))
    const onClose = () => settle(() => reject(new LinkError('The connection ended during its handshake.')))
    const timer = setTimeout(() => {
      settle(() => reject(new LinkError('The other end did not finish the handshake in time.')))
    }, handshakeMs)
    wire.on('data', onData).once('error', onError).once('close', onClose).once('end', onClose)
    wire.resume()
  })
}
