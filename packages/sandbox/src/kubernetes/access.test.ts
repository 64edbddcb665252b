import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { readAccess } from './access.ts'

const folder = mkdtempSync(join(tmpdir(), 'svc-access-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function fileOf(name: string, text: string): string {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}

const config = (user: string, cluster = 'certificate-authority-data: Y2E=') =>
  fileOf(
    `config-${crypto.randomUUID()}`,
    `apiVersion: v1
kind: Config
current-context: two
contexts:
- name: one
  context: { cluster: other, user: nobody }
- name: two
  context: { cluster: ours, user: me, namespace: agents }
clusters:
- name: ours
  cluster:
    server: https://cluster.example:6443/
    ${cluster}
users:
- name: me
  user:
    ${user}
`,
  )

const access = (kubeconfig: string) => readAccess({ kubeconfig, service: null })

test('the current context of a kubeconfig says where, in which namespace, and as whom', async () => {
  const found = access(config('token: a-token'))
  expect(found).toMatchObject({
    ...{ server: 'https://cluster.example:6443', namespace: 'agents', isInside: false },
    tls: { ca: 'ca' },
  })
  expect(await found.headers()).toEqual({ authorization: 'Bearer a-token' })
})

test('certificates and tokens in files are found beside the kubeconfig', async () => {
  for (const [name, text] of Object.entries({ 'ca.pem': 'CA', 'me.pem': 'ME', 'me.key': 'KEY' })) fileOf(name, text)
  const found = access(config('client-certificate: me.pem\n    client-key: me.key', 'certificate-authority: ca.pem'))
  expect(found.tls).toEqual({ ca: 'CA', cert: 'ME', key: 'KEY' })
  expect(await found.headers()).toEqual({})
  fileOf('token', 'from a file\n')
  expect(await access(config('tokenFile: token')).headers()).toEqual({ authorization: 'Bearer from a file' })
})

test("a provider's program is run for a token, and again once the token ends", async () => {
  const counter = join(folder, 'count')
  const program = fileOf(
    'provider.sh',
    `#!/bin/sh
echo x >> ${counter}
echo "{\\"status\\":{\\"token\\":\\"$PREFIX-$(wc -l < ${counter})\\",\\"expirationTimestamp\\":\\"$ENDS\\"}}"`,
  )
  const exec = (ends: string) =>
    config(
      `exec: { apiVersion: client.authentication.k8s.io/v1, command: sh, args: ["${program}"], env: [{ name: PREFIX, value: given }, { name: ENDS, value: "${ends}" }] }`,
    )
  const lasting = access(exec('2999-01-01T00:00:00Z'))
  for (let turn = 0; turn < 2; turn++) expect(await lasting.headers()).toEqual({ authorization: 'Bearer given-1' })
  const short = access(exec('2001-01-01T00:00:00Z'))
  expect(await short.headers()).toEqual({ authorization: 'Bearer given-2' })
  expect(await short.headers()).toEqual({ authorization: 'Bearer given-3' })
})

test('a kubeconfig without the thing it names says which', () => {
  const broken = fileOf('broken', 'current-context: x\ncontexts: []\n')
  expect(() => access(broken)).toThrow(`${broken} has no context called "x".`)
})

test('a server in a pod uses the account of its pod, and reads a replaced token', async () => {
  for (const [name, text] of Object.entries({ namespace: 'svc', 'ca.crt': 'CA', token: 'first' })) fileOf(name, text)
  const found = readAccess({
    ...{ kubeconfig: null, service: { host: '10.0.0.1', port: '443' } },
    serviceAccountDir: folder,
  })
  expect(found).toMatchObject({ server: 'https://10.0.0.1:443', namespace: 'svc', isInside: true, tls: { ca: 'CA' } })
  expect(await found.headers()).toEqual({ authorization: 'Bearer first' })
  fileOf('token', 'second')
  expect(await found.headers()).toEqual({ authorization: 'Bearer second' })
})

test('without a kubeconfig and outside a pod, the message says both', () => {
  expect(() => readAccess({ kubeconfig: null, service: null })).toThrow('KUBECONFIG is not set')
})
