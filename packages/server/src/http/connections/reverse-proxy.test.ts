/** The proxies of docs/operate/reverse-proxy.md, run with the configuration that page shows, in front of the real listener. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { connect } from 'node:tls'
import type { Project } from '@svc/contract'
import { freePort } from '@svc/git/testing'
import { $ } from 'bun'
import { buildApp } from '../../app.ts'
import { readNetwork } from '../../config/network.ts'
import { Settings } from '../../config/settings.ts'
import { Listener } from '../../listen.ts'
import { until } from '../../sessions/testing.ts'
import { makeTestApp, type TestApp } from '../../testing.ts'
import type { IngressHandler } from '../ingress.ts'
import { findProxy, type Proxy, type ProxyName, startProxy } from './testing-proxies.ts'

/** Echoes whatever follows the upgrade. */
const echo: IngressHandler = {
  takes: (request, upgrades) => upgrades && request.url === '/echo',
  request: () => Promise.reject(new Error('This ingress takes only upgrades.')),
  async upgrade(_request, socket, head) {
    socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n')
    socket.write(head)
    socket.pipe(socket)
  },
}

const client = '127.0.0.2'

for (const name of ['nginx', 'nginx-stream', 'caddy'] as ProxyName[])
  describe.skipIf(findProxy(name) === null)(name, () => {
    let app: TestApp
    let proxy: Proxy
    let listener: Listener
    let port: number
    let project: Project
    beforeAll(async () => {
      port = await freePort()
      const env = { SVC_TRUSTED_PROXIES: '127.0.0.1', SVC_PROXY_PROTOCOL: name === 'nginx-stream' ? '1' : '0' }
      const network = readNetwork(new Settings(env))
      const publicUrl = `https://svc.example.com:${port}`
      app = await makeTestApp({ configure: { publicUrl, network, previewDomain: 'preview.example.com' } })
      project = (await app.managedProject()).project
      const served = buildApp(app.deps)
      listener = new Listener({ fromSandbox: false, network })
      const upstream = await listener.onPort('127.0.0.1', 0)
      listener.answerWith((request, env) => served.fetch(request, env), [echo])
      proxy = await startProxy(name, { dir: join(app.deps.config.dataDir, name), port, upstream })
    }, 120_000)
    afterAll(async () => {
      await proxy?.close()
      await listener.close()
      await app.close()
    })

    /** Speaks TLS from the client's address, which differs from the proxy's. */
    function send(lines: string[], body = ''): { text(): string; write(bytes: string): void; close(): void } {
      let text = ''
      const options = { host: '127.0.0.1', port, localAddress: client, servername: 'svc.example.com' }
      const socket = connect({ ...options, rejectUnauthorized: false })
      socket.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')))
      socket.on('error', (error) => (text += `\n${error.message}`))
      const host = `Host: svc.example.com:${port}`
      socket.write([lines[0], host, ...lines.slice(1), '', body].join('\r\n'))
      return { text: () => text, write: (bytes) => socket.write(bytes), close: () => socket.destroy() }
    }
    const authorized = () => `Authorization: Bearer ${app.ownerToken}`

    test.each([[[]], [['X-Forwarded-For: 198.51.100.9', 'Forwarded: for=198.51.100.9', 'X-Real-IP: 198.51.100.9']]])(
      'audits the client address, whatever the client sends: %j',
      async (claims: string[]) => {
        const body = JSON.stringify({ name: `audited ${claims.length}` })
        const head = [authorized(), 'Content-Type: application/json', `Content-Length: ${body.length}`]
        const sent = send(['POST /v1/projects HTTP/1.1', ...head, ...claims], body)
        await until('it is answered', async () => sent.text() !== '')
        expect(sent.text()).toContain('201 Created')
        sent.close()
        const row = await app.deps.db
          .selectFrom('audit_events')
          .select('address')
          .where('action', '=', 'project.create')
          .orderBy('at', 'desc')
          .executeTakeFirstOrThrow()
        expect(row.address).toBe(client)
      },
    )

    test('passes the events of an open stream at once', async () => {
      const path = `/v1/projects/${project.project_id}/events`
      const stream = send([`GET ${path} HTTP/1.1`, authorized(), 'Accept: text/event-stream'])
      await until('its head is here', async () => stream.text().includes('text/event-stream'))
      await until('bytes of the stream are here', async () => (stream.text().split('\r\n\r\n')[1] ?? '').length > 0)
      stream.close()
    })

    test('passes a WebSocket in both directions', async () => {
      const key = `Sec-WebSocket-Key: ${randomBytes(16).toString('base64')}`
      const socket = send([
        'GET /echo HTTP/1.1',
        'Connection: Upgrade',
        'Upgrade: websocket',
        key,
        'Sec-WebSocket-Version: 13',
      ])
      await until('it is open', async () => socket.text().includes('101 Switching Protocols'))
      socket.write('hello through the proxy')
      await until('the echo is here', async () => socket.text().includes('hello through the proxy'))
      socket.close()
    })

    test('passes a push of 40 MB', async () => {
      const folder = join(app.deps.config.dataDir, 'large')
      await $`git init -q -b large ${folder}`.quiet()
      await writeFile(join(folder, 'large.bin'), randomBytes(40 * 1024 * 1024))
      const url = `https://x-access-token:${app.ownerToken}@svc.example.com:${port}/v1/projects/${project.project_id}/git`
      const who = ['-c', 'user.name=t', '-c', 'user.email=t@example.test']
      const tls = ['-c', 'http.sslVerify=false', '-c', `http.curloptResolve=svc.example.com:${port}:127.0.0.1`]
      await $`git -C ${folder} add large.bin`.quiet()
      await $`git -C ${folder} ${who} commit -q -m large`.quiet()
      const pushed = await $`git -C ${folder} ${tls} push ${url} large`.quiet().nothrow()
      expect([pushed.exitCode, pushed.stderr.toString()]).toEqual([0, expect.stringContaining('large -> large')])
      await rm(folder, { recursive: true })
    })

    test('treats a page of the same host over plain http as another origin', async () => {
      const body = '{"email":"a@example.test","password":"a wrong password"}'
      const ask = async (origin: string) => {
        const head = [`Origin: ${origin}`, 'Content-Type: application/json', `Content-Length: ${body.length}`]
        const sent = send(['POST /v1/sign-in/password HTTP/1.1', ...head], body)
        await until('it is answered', async () => sent.text().includes('\r\n\r\n'))
        sent.close()
        return sent.text().slice(9, 12)
      }
      expect(await ask(`https://svc.example.com:${port}`)).toBe('401')
      expect(await ask(`http://svc.example.com:${port}`)).toBe('403')
    })
  })
