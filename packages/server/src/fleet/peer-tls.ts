/**
 * Encryption between servers without certificates of the operator: each server derives the key of one certificate
 * authority from the root key, signs a certificate for its own name with it, and trusts no other authority.
 */
import 'reflect-metadata'
import { createECDH } from 'node:crypto'
import { lookup } from 'node:dns/promises'
import { writeFile } from 'node:fs/promises'
import type { PeerCertificate } from 'node:tls'
import {
  BasicConstraintsExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  PemConverter,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator,
} from '@peculiar/x509'
import type { Keyring } from '../keyring/keyring.ts'

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const
const authority = 'CN=svc servers'
/** Long enough for every clock: the key decides who is trusted, and a certificate lives as long as its process. */
const validity = { notBefore: new Date('2020-01-01T00:00:00Z'), notAfter: new Date('2120-01-01T00:00:00Z') }

/** PEM. */
export interface OwnCertificate {
  cert: string
  key: string
}

/** The options of a TLS client for one server. */
export interface PeerTrust {
  ca: string
  servername: string
}

export class PeerTls {
  readonly #ca: string
  readonly #keys: CryptoKeyPair

  private constructor(ca: string, keys: CryptoKeyPair) {
    this.#ca = ca
    this.#keys = keys
  }

  /** The certificate of the authority, for programs that read it from a file. */
  async writeAuthority(file: string): Promise<void> {
    await writeFile(file, this.#ca)
  }

  static async make(keyring: Pick<Keyring, 'derive'>): Promise<PeerTls> {
    const keys = await importKeys(keyring.derive('certificate authority of the servers'))
    const ca = await X509CertificateGenerator.createSelfSigned({
      ...{ serialNumber: '01', name: authority, ...validity, signingAlgorithm: algorithm, keys },
      extensions: [
        new BasicConstraintsExtension(true, 0, true),
        new KeyUsagesExtension(KeyUsageFlags.keyCertSign, true),
      ],
    })
    return new PeerTls(ca.toString('pem'), keys)
  }

  /** Of a server for its own listener. Its key is new and stays in memory. */
  async certificate(serverName: string): Promise<OwnCertificate> {
    const own = (await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])) as CryptoKeyPair
    const cert = await X509CertificateGenerator.create({
      ...{ serialNumber: '02', subject: 'CN=svc server', issuer: authority, ...validity },
      ...{ signingAlgorithm: algorithm, publicKey: own.publicKey, signingKey: this.#keys.privateKey },
      extensions: [new SubjectAlternativeNameExtension([{ type: 'dns', value: certifiedName(serverName) }])],
    })
    const key = PemConverter.encode(await crypto.subtle.exportKey('pkcs8', own.privateKey), 'PRIVATE KEY')
    return { cert: cert.toString('pem'), key }
  }

  /** Null for a server that is reached without encryption. */
  trust({ server_name, peer_url }: { server_name: string; peer_url: string }): PeerTrust | null {
    return peer_url.startsWith('https:') ? { ca: this.#ca, servername: certifiedName(server_name) } : null
  }
}

/**
 * The same for programs that know names and addresses only: the certified name in place of the host, and the addresses
 * of the host.
 */
export async function certifiedAddress(peer: { server_name: string; peer_url: string }) {
  const { hostname, port } = new URL(peer.peer_url)
  const addresses = await lookup(hostname.replace(/^\[|\]$/g, ''), { all: true })
  const url = `https://${certifiedName(peer.server_name)}:${port || 443}`
  return { url, addresses: addresses.map(({ address }) => address) }
}

/** The options of a `fetch` to another server. With a function that compares names, Bun would not pool the connections. */
export function fetchTrust(tls: PeerTls | null, peer: Parameters<PeerTls['trust']>[0]) {
  return asFetchOptions(tls?.trust(peer) ?? null)
}

/** The same as options of `fetch`. */
export function asFetchOptions(trust: PeerTrust | null) {
  return trust === null ? {} : { tls: { ca: trust.ca, serverName: trust.servername } }
}

/** Whether a `fetch` failed because the address shows no certificate of that server. */
export function isOtherCertificate(error: unknown): boolean {
  return /CERT|UNABLE_TO_VERIFY/.test((error as NodeJS.ErrnoException).code ?? '')
}

/** Never a name of the DNS or of an account, whatever the server is called. */
function certifiedName(serverName: string): string {
  return `${serverName}${certifiedSuffix}`
}

const certifiedSuffix = '.svc-server.internal'

/** The name in a certificate of one of the servers. Null: another certificate. */
export function certifiedServer({ subjectaltname }: Partial<PeerCertificate>): string | null {
  const name = /^DNS:([^,]+)$/.exec(subjectaltname ?? '')?.[1] ?? ''
  return name.endsWith(certifiedSuffix) ? name.slice(0, -certifiedSuffix.length) : null
}

/** A scalar of P-256 is 32 bytes below its order, which a random value misses once in 2^32. */
async function importKeys(scalar: Buffer): Promise<CryptoKeyPair> {
  const curve = createECDH('prime256v1')
  curve.setPrivateKey(scalar)
  const point = curve.getPublicKey()
  const [x, y] = [point.subarray(1, 33), point.subarray(33)].map((part) => part.toString('base64url'))
  const shared = { kty: 'EC', crv: 'P-256', x: x!, y: y! }
  const load = (jwk: JsonWebKey, usage: KeyUsage) => crypto.subtle.importKey('jwk', jwk, algorithm, true, [usage])
  const [privateKey, publicKey] = await Promise.all([
    load({ ...shared, d: scalar.toString('base64url') }, 'sign'),
    load(shared, 'verify'),
  ])
  return { privateKey, publicKey }
}
