import { execFileSync } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'bun:test'
import { ids, svc, token } from './testing.ts'

test('a certificate that is not trusted is named, with the setting that trusts its authority', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'svc-certificate-'))
  const [key, cert] = [join(dir, 'key.pem'), join(dir, 'cert.pem')]
  const request = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '5', '-subj', '/CN=localhost']
  execFileSync('openssl', [...request, '-keyout', key, '-out', cert], { stdio: 'ignore' })
  await using server = Bun.serve({
    ...{ hostname: '127.0.0.1', port: 0, tls: { key: Bun.file(key), cert: Bun.file(cert) } },
    fetch: () => new Response(),
  })
  const url = `https://127.0.0.1:${server.port}`
  const env = { SVC_API_URL: `${url}/v1`, SVC_CLI_TOKEN: token, SVC_PROJECT_ID: ids.project }
  const { code, stderr } = await svc(['sessions', 'ls'], { env })
  expect([code, stderr]).toEqual([1, expect.stringContaining(`The certificate of ${url} is not trusted: `)])
  expect(stderr).toContain('NODE_EXTRA_CA_CERTS=')
  await rm(dir, { recursive: true })
})
