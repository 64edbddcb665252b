import { expect, test } from 'bun:test'
import { makeCertificate } from '@svc/git/testing'
import { ids, svc, token } from './testing.ts'

test('a certificate that is not trusted is named, with the setting that trusts its authority', async () => {
  await using server = Bun.serve({
    ...{ hostname: '127.0.0.1', port: 0, tls: makeCertificate('localhost') },
    fetch: () => new Response(),
  })
  const url = `https://127.0.0.1:${server.port}`
  const env = { SVC_API_URL: `${url}/v1`, SVC_CLI_TOKEN: token, SVC_PROJECT_ID: ids.project }
  const { code, stderr } = await svc(['sessions', 'ls'], { env })
  expect([code, stderr]).toEqual([1, expect.stringContaining(`The certificate of ${url} is not trusted: `)])
  expect(stderr).toContain('NODE_EXTRA_CA_CERTS=')
})
