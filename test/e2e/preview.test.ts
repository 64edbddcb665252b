/** Previews in a real browser: a dev server in a real sandbox whose page reloads itself at an edit, and a page that attacks what is not its own. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtemp } from 'node:fs/promises'
import { join } from 'node:path'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { browserPath, openBrowser } from './browser.ts'
import { git, Server, until } from './harness.ts'

const minute = 60_000

/** A dev server: serves a page, and notifies it by a WebSocket when its file changed. */
const devServer = `
import { readFileSync, watch } from 'node:fs'
const page = () => readFileSync('page.html', 'utf8')
const clients = new Set()
Bun.serve({
  port: 3000, hostname: '127.0.0.1',
  fetch(request, server) {
    const url = new URL(request.url)
    if (url.pathname === '/hmr') return server.upgrade(request) ? undefined : new Response('no', { status: 400 })
    if (url.pathname === '/stream') return new Response(new ReadableStream({
      async start(c) { for (let i = 0; i < 3; i++) { c.enqueue(new TextEncoder().encode('data: ' + i + '\\n\\n')); await Bun.sleep(50) } }
    }), { headers: { 'content-type': 'text/event-stream' } })
    if (url.pathname === '/sw.js') return new Response('self.addEventListener("fetch", () => {})', { headers: { 'content-type': 'text/javascript', 'service-worker-allowed': '/' } })
    return new Response(page(), { headers: { 'content-type': 'text/html', 'set-cookie': 'svc_session=forged; Domain=localhost; Path=/' } })
  },
  websocket: { open: (ws) => clients.add(ws), close: (ws) => clients.delete(ws), message: (ws, text) => ws.send('echo ' + text) },
})
let last = page()
setInterval(() => { const now = page(); if (now !== last) { last = now; for (const ws of clients) ws.send('reload') } }, 100)
`
const html = `<!doctype html><title>app</title><h1>version one</h1>
<script>
  const ws = new WebSocket('ws://' + location.host + '/hmr')
  ws.onopen = () => ws.send('hello')
  ws.onmessage = ({ data }) => data === 'reload' ? location.reload() : (document.title = data)
</script>`

let server: Server
let browser: Browser
let project: string
let session: string

beforeAll(async () => {
  if (!browserPath) return
  server = await Server.start()
  browser = await openBrowser()
  const made = await server.json<{ project_id: string }>(['projects', 'create', '--name', 'previews'])
  project = made.project_id
  const seed = await mkdtemp(join(server.dir, 'seed-'))
  await git(seed, 'init', '--quiet', '--initial-branch=main')
  await Bun.write(join(seed, 'server.mjs'), devServer)
  await Bun.write(join(seed, 'page.html'), html)
  await git(seed, 'add', '.')
  await git(seed, 'commit', '--quiet', '-m', 'An app')
  const url = new URL(`${server.url}/v1/projects/${project}/git`)
  url.username = 'x-access-token'
  url.password = server.token
  await git(seed, 'push', '--quiet', url.href, 'main')
  session = await startSession(
    'BUN_BE_BUN=1 setsid nohup /usr/local/bin/svc server.mjs > /tmp/server.log 2>&1 &',
    'for i in $(seq 200); do curl -s -o /dev/null http://127.0.0.1:3000/ && break; sleep 0.1; done; cat /tmp/server.log',
  )
}, 4 * minute)
afterAll(async () => {
  await browser?.close()
  await server?.end()
}, minute)

function script(...commands: string[]): string {
  return ['Do this.', '', '```svc-script', ...commands, '```'].join('\n')
}

async function startSession(...commands: string[]): Promise<string> {
  const made = await server.json<{ session_id: string }>([
    ...['sessions', 'new', '--wait', '--model', 'svc-scripted-demo', '--project', project],
    ...['--prompt', script(...commands)],
  ])
  return made.session_id
}

async function address(port = 3000): Promise<string> {
  const { url } = await server.json<{ url: string }>([
    'sessions',
    'preview',
    session,
    String(port),
    '--project',
    project,
  ])
  return url
}

/** The page as soon as the program behind it answers. */
async function openPreview(context: BrowserContext): Promise<Page> {
  const page = await context.newPage()
  await page.goto(await address())
  await page.getByRole('heading', { name: /version/ }).waitFor({ timeout: 2 * minute })
  return page
}

test.skipIf(!browserPath)(
  'a previewed page loads, its WebSocket and event stream work, and an edit reloads it',
  async () => {
    const page = await openPreview(await browser.newContext())
    expect(page.url()).not.toContain('svc_ticket')
    await until('the socket to echo', async () => (await page.title()) === 'echo hello')
    const streamed = await page.evaluate(`new Promise((resolve) => {
      const seen = []
      const source = new EventSource('/stream')
      source.onmessage = ({ data }) => { seen.push(data); if (seen.length === 3) { source.close(); resolve(seen) } }
    })`)
    expect(streamed).toEqual(['0', '1', '2'])
    const asked = await server.svc([
      ...['sessions', 'chat', session, '--project', project, '--prompt'],
      script(`sed -i 's/version one/version two/' page.html`),
    ])
    expect(asked.code).toBe(0)
    await page.getByRole('heading', { name: 'version two' }).waitFor()
    await until('the new page to have its socket', async () => (await page.title()) === 'echo hello')
    const nothing = await page.context().newPage()
    await nothing.goto(await address(4567))
    await nothing.getByText('Nothing listens on port 4567 yet').waitFor()
  },
  4 * minute,
)

test.skipIf(!browserPath)(
  'the page of the session shows the program in a frame, with its WebSocket, and lists its port',
  async () => {
    const context = await browser.newContext()
    const page = await context.newPage()
    const owner = await server.json<{ url: string }>(['self-host', 'owner-link'])
    await page.goto(owner.url)
    await page
      .getByRole('button', { name: /sign in/i })
      .first()
      .click()
    await page.getByRole('heading', { name: 'Inbox' }).waitFor()
    await page.goto(`${new URL(owner.url).origin}/projects/previews/sessions/${session}?panel=preview`)
    const frame = page.frameLocator('iframe[title="Preview of port 3000"]')
    await frame.getByRole('heading', { name: /version/ }).waitFor({ timeout: minute })
    const inside = () => page.frames().find((each) => each.url().includes('://3000--'))
    await until('the socket to echo', async () => (await inside()?.title()) === 'echo hello')
    const shown = await page.getByRole('combobox', { name: 'Port' }).locator('option').allTextContents()
    expect(shown).toContain('Port 3000')
    // Ports of the sandbox itself.
    expect(shown.join()).not.toMatch(/\b(8000|4096|6108[0-2])\b/)
    await context.close()
  },
  4 * minute,
)

/** Each runs in the preview's page with the dashboard signed in beside it, and answers with what it got hold of; null is nothing. */
const attacks: Record<string, string> = {
  'fetch with credentials': `fetch(D + '/v1/projects', { credentials: 'include' }).then((r) => r.text())`,
  'fetch of the page': `fetch(D + '/', { credentials: 'include' }).then((r) => r.text())`,
  'fetch, no-cors': `fetch(D + '/v1/projects', { credentials: 'include', mode: 'no-cors' }).then((r) => r.text()).then((t) => t || null)`,
  'write, text/plain': `fetch(D + '/v1/projects', { method: 'POST', credentials: 'include', mode: 'no-cors', body: '{"name":"owned"}' }).then(() => null)`,
  'write, JSON': `fetch(D + '/v1/projects', { method: 'POST', credentials: 'include', headers: { 'content-type': 'application/json' }, body: '{"name":"owned"}' }).then((r) => r.text())`,
  XMLHttpRequest: `new Promise((done) => { const x = new XMLHttpRequest(); x.withCredentials = true; x.open('GET', D + '/v1/projects'); x.onload = () => done(x.responseText); x.onerror = () => done(null); x.send() })`,
  'form into a frame': `submit('post', 'text/plain', '{"name":"owned","x":"', '"}')`,
  'form, multipart': `submit('post', 'multipart/form-data', 'name', 'owned')`,
  'form, url encoded': `submit('post', 'application/x-www-form-urlencoded', 'name', 'owned')`,
  beacon: `(navigator.sendBeacon(D + '/v1/projects', new Blob(['{"name":"owned"}'], { type: 'text/plain' })), wait())`,
  frame: `frame(D + '/').then((f) => { try { return f.contentDocument && f.contentDocument.body.innerText || null } catch { return null } })`,
  'frame of the API': `frame(D + '/v1/projects').then((f) => { try { return f.contentDocument && f.contentDocument.body.innerText || null } catch { return null } })`,
  object: `element('object', { data: D + '/', type: 'text/html' }).then((o) => { try { return o.contentDocument && o.contentDocument.body.innerText || null } catch { return null } })`,
  embed: `element('embed', { src: D + '/' }).then(() => null)`,
  'script of JSON': `element('script', { src: D + '/v1/projects' }).then(() => window.stolen || null)`,
  'module of JSON': `import(D + '/v1/projects').then((m) => JSON.stringify(m))`,
  stylesheet: `element('link', { rel: 'stylesheet', href: D + '/v1/projects' }).then((l) => { try { return l.sheet && l.sheet.cssRules.length > 0 ? 'rules' : null } catch { return null } })`,
  image: `element('img', { src: D + '/v1/projects' }).then((i) => i.naturalWidth > 0 ? 'picture' : null)`,
  'event stream': `new Promise((done) => { const s = new EventSource(D + '/v1/projects/' + P + '/sessions/' + S + '/events', { withCredentials: true }); s.onmessage = (e) => done(e.data); s.addEventListener('session', (e) => done(e.data)); s.onerror = () => { s.close(); done(null) } })`,
  'WebSocket to the sandbox': `socket(D.replace('http', 'ws') + B + '/proxy/3000/hmr')`,
  'WebSocket to another preview': `socket('ws://3000--' + O + '.localhost:' + location.port + '/hmr')`,
  'the API at this name': `fetch('/v1/projects', { credentials: 'include' }).then((r) => r.text()).then((t) => t.includes('project_id') ? t : null)`,
  'another port of the session': `fetch('http://3001--' + S + '.localhost:' + location.port + '/', { credentials: 'include' }).then((r) => r.text())`,
  'a cookie for the dashboard': `(document.cookie = 'svc_session=forged; domain=localhost; path=/', document.cookie = 'svc_session=forged; domain=.localhost; path=/', null)`,
  'cookies of ours': `document.cookie.includes('svc_') ? document.cookie : null`,
  'document.domain': `(() => { try { document.domain = 'localhost' } catch {} return document.domain === 'localhost' ? 'same domain' : null })()`,
  'service worker of the dashboard': `navigator.serviceWorker.register(D + '/sw.js').then(() => 'registered')`,
  'service worker of its own': `navigator.serviceWorker.register('/sw.js', { scope: D + '/' }).then(() => 'registered')`,
  'worker from the dashboard': `new Promise((done) => { try { new Worker(D + '/v1/projects').onerror = () => done(null) } catch { done(null) } setTimeout(() => done(null), 500) })`,
  opener: `window.opener === null ? null : (() => { try { return window.opener.document.body.innerText } catch { return 'an opener' } })()`,
  'window and message': `(() => { const w = open(D + '/', 'victim'); return wait().then(() => { try { return w && w.document && w.document.body.innerText || null } catch { w.postMessage({ type: 'merge' }, '*'); return null } }) })()`,
  'storage next door': `(localStorage.setItem('svc', 'forged'), null)`,
}

test.skipIf(!browserPath)(
  'a hostile previewed page reaches nothing else',
  async () => {
    const context = await browser.newContext()
    const dashboard = server.url.replace('127.0.0.1', 'localhost')
    const owner = await server.json<{ url: string }>(['self-host', 'owner-link'])
    const home = await context.newPage()
    // The name next to the previews' names is the weakest place the dashboard can have.
    await home.goto(owner.url.replace('127.0.0.1', 'localhost'))
    await home
      .getByRole('button', { name: /sign in/i })
      .first()
      .click()
    await until('the sign-in', async () =>
      (await context.cookies(dashboard)).some(({ name }) => name === 'svc_session'),
    )
    // The cookie precedes the navigation, which would end a script that the page runs meanwhile.
    await home.getByRole('heading', { name: 'Inbox' }).waitFor()
    const cookie = async () => (await context.cookies(dashboard)).filter(({ name }) => name === 'svc_session')
    const before = await cookie()
    expect(before).toHaveLength(1)

    // Opened from the dashboard by a script that asks for an opener: the worst way to open it.
    const [page] = await Promise.all([
      context.waitForEvent('page'),
      home.evaluate(`void window.open(${JSON.stringify(await address())})`),
    ])
    await page!.getByRole('heading', { name: /version/ }).waitFor({ timeout: minute })
    const { sandbox_url: sandboxUrl } = (
      await server.json<{ session: { sandbox_url: string } }>(['sessions', 'info', session, '--project', project])
    ).session
    const got: Record<string, unknown> = {}
    for (const [name, code] of Object.entries(attacks))
      got[name] = await page!.evaluate(attack(code, { dashboard, sandboxUrl }))
    expect(Object.keys(got).length).toBeGreaterThanOrEqual(25)
    // The same code against its own origin does get hold of something, so it is no dud.
    const own = new URL(page!.url()).origin
    for (const name of ['fetch with credentials', 'XMLHttpRequest', 'frame', 'service worker of its own'])
      expect([name, await page!.evaluate(attack(attacks[name]!, { dashboard: own, sandboxUrl }))]).not.toEqual([
        name,
        null,
      ])
    expect(got).toEqual(Object.fromEntries(Object.keys(attacks).map((name) => [name, null])))

    expect(await cookie()).toEqual(before)
    const projects = await server.json<{ name: string }[]>(['projects', 'ls'])
    expect(projects.map(({ name }) => name)).toEqual(['previews'])
    await home.reload()
    expect(await home.evaluate(`localStorage.getItem('svc')`)).toBe(null)
    expect(await home.evaluate(`navigator.serviceWorker.getRegistrations().then((all) => all.length)`)).toBe(0)
    const signedIn = await home.evaluate(`fetch('/v1/projects').then((r) => r.status)`)
    expect(signedIn).toBe(200)
  },
  4 * minute,
)

function attack(code: string, { dashboard, sandboxUrl }: { dashboard: string; sandboxUrl: string }): string {
  const facts = { D: dashboard, P: project, S: session, B: new URL(sandboxUrl).pathname, O: crypto.randomUUID() }
  return `(async () => {
    const { D, P, S, B, O } = ${JSON.stringify(facts)}
    const wait = (ms = 700) => new Promise((done) => setTimeout(() => done(null), ms))
    const element = (tag, attributes) => new Promise((done) => {
      const made = Object.assign(document.createElement(tag), attributes)
      made.onload = made.onerror = () => done(made)
      document.body.append(made)
      setTimeout(() => done(made), 1500)
    })
    const frame = (src) => element('iframe', { src })
    const socket = (url) => new Promise((done) => {
      const ws = new WebSocket(url)
      ws.onopen = () => done('open')
      ws.onerror = () => done(null)
    })
    const submit = (method, enctype, name, value) => {
      const target = document.createElement('iframe')
      target.name = 'into' + Math.random()
      const form = Object.assign(document.createElement('form'), { method, enctype, action: D + '/v1/projects', target: target.name })
      form.append(Object.assign(document.createElement('input'), { name, value }))
      document.body.append(target, form)
      form.submit()
      return wait(1200)
    }
    try { return await Promise.race([${code}, wait(6000)]) ?? null } catch { return null }
  })()`
}
