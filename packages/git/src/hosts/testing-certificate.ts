import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A certificate that signs itself, and its key, as PEM. */
export function makeCertificate(
  subject: string,
  { names = [], days = 2 }: { names?: string[]; days?: number } = {},
): { key: string; cert: string } {
  const dir = mkdtempSync(join(tmpdir(), 'svc-certificate-'))
  const [key, cert] = [join(dir, 'key.pem'), join(dir, 'cert.pem')]
  const alternatives = `subjectAltName=${names.map((name) => `DNS:${name}`).join(',')}`
  const request = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', String(days), '-subj', `/CN=${subject}`]
  const more = names.length === 0 ? [] : ['-addext', alternatives]
  try {
    execFileSync('openssl', [...request, ...more, '-keyout', key, '-out', cert], { stdio: 'ignore' })
    return { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') }
  } finally {
    rmSync(dir, { recursive: true })
  }
}
