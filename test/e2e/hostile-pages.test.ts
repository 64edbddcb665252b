/** Hostile content, put in by the ways it would come, in every page: nothing of it runs, nothing foreign is fetched, and it looks like what it is. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { paths } from '../../packages/dashboard/src/paths.ts'
import { startSlack } from '../../packages/server/src/channels/slack/testing-slack.ts'
import { browserPath } from './browser.ts'
import { until } from './harness.ts'
import { plantHostileContent, type Planted } from './hostile-planted.ts'
import { beginPageStory, listenForComplaints, type PageStory, pictures } from './page-story.ts'

let story: PageStory
let planted: Planted
/** A request that arrives here was caused by a page. */
let stranger: { url: string; asked: string[]; stop(): void }
const slack = startSlack()

beforeAll(async () => {
  if (!browserPath) return
  stranger = listenAsStranger()
  // A browser calls itself what it likes, and that is shown among the sign-ins.
  const userAgent = `<img src=x onerror=window.__canary=1> Mozilla/5.0`
  story = await beginPageStory(
    // A model that is away: sessions begin, and none gets an answer.
    { SVC_SLACK_API_URL: slack.apiUrl, SVC_LLM_UPSTREAM_URL: 'http://127.0.0.1:9/v1', SVC_LLM_MODEL: 'away' },
    { userAgent, viewport: { width: 360, height: 900 } },
  )
  planted = await plantHostileContent(story.server, stranger.url, slack)
}, 600_000)
afterAll(async () => {
  await planted?.end()
  await story?.end()
  await slack.close()
  stranger?.stop()
}, 120_000)

function listenAsStranger(): typeof stranger {
  const asked: string[] = []
  const http = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch(request) {
      asked.push(request.url)
      return new Response('window.__canary = 1')
    },
  })
  return { url: `http://127.0.0.1:${http.port}`, asked, stop: () => void http.stop(true) }
}

interface Look {
  at: string
  /** A piece of the corpus that has to be there to be read, or the look would show nothing. */
  reads: RegExp
}

const poison = /onerror=/

/** A row for each page; one that has none fails. */
const table: { [Name in keyof typeof paths]: (planted: Planted) => Look[] } = {
  // A call waits for two minutes: its pages come first.
  session: ({ slug, sessionId, failed }) => [
    { at: `/projects/${slug}/sessions/${sessionId}`, reads: /asks for permission: Call / },
    { at: `/projects/${slug}/sessions/${sessionId}`, reads: poison },
    { at: `/projects/${failed.slug}/sessions/${failed.sessionId}`, reads: /Its last lines: .*onerror=/ },
  ],
  connectors: ({ slug }) => [{ at: `/projects/${slug}/connectors`, reads: poison }],
  home: () => [{ at: '/', reads: poison }],
  invitations: () => [{ at: '/invitations', reads: /No invitations/ }],
  signIn: () => [
    {
      at: '/sign-in?next=javascript:alert(1)&problem=__proto__#%3Cimg%20src=x%20onerror=alert(1)%3E',
      reads: /Sign in/,
    },
  ],
  authorize: () => {
    const asked = new URLSearchParams({
      port: '1',
      state: 's'.repeat(32),
      challenge: 'c'.repeat(43),
      name: '<img src=x onerror=window.__canary=1>safe\u202egnp.exe',
    })
    return [{ at: `/authorize#${asked.toString()}`, reads: poison }]
  },
  projects: () => [{ at: '/projects', reads: poison }],
  newProject: () => [{ at: '/projects/new', reads: /New project/ }],
  project: ({ slug }) => [
    { at: `/projects/${slug}`, reads: poison },
    { at: `/projects/${encodeURIComponent('<img src=x onerror=alert(1)>\u202egnp')}`, reads: poison },
  ],
  changeRequests: ({ slug }) => [{ at: `/projects/${slug}/change-requests?status=all`, reads: poison }],
  newChangeRequest: ({ slug }) => [
    {
      at: `/projects/${slug}/change-requests/new?head=${encodeURIComponent('<img/src=x/onerror=alert(1)>')}`,
      reads: poison,
    },
  ],
  changeRequest: ({ slug, clean, conflict, broken }) => [
    { at: `/projects/${slug}/change-requests/${clean}`, reads: poison },
    { at: `/projects/${slug}/change-requests/${clean}?tab=commits`, reads: poison },
    { at: `/projects/${slug}/change-requests/${clean}?tab=files`, reads: /window\.__canary=1;document\.title/ },
    { at: `/projects/${slug}/change-requests/${conflict}`, reads: /two␊lines <b>\.txt/ },
    // It merges, so the checks run on it.
    { at: `/projects/${slug}/change-requests/${broken}`, reads: /check <img src=x onerror=/ },
    { at: `/projects/${slug}/change-requests/${broken}?tab=effects`, reads: poison },
  ],
  sessions: ({ slug }) => [{ at: `/projects/${slug}/sessions`, reads: poison }],
  terminal: ({ slug, sessionId }) => [{ at: `/projects/${slug}/sessions/${sessionId}/terminal`, reads: poison }],
  sessionFiles: ({ slug, sessionId }) => [
    { at: `/projects/${slug}/sessions/${sessionId}/files`, reads: /<img src=x onerror=alert\(1\)>\.svg/ },
    {
      at: `/projects/${slug}/sessions/${sessionId}/files?path=${encodeURIComponent('<img src=x onerror=alert(1)>.svg')}`,
      reads: poison,
    },
  ],
  branches: ({ slug }) => [{ at: `/projects/${slug}/branches`, reads: poison }],
  files: ({ slug, hostileBranch }) => [
    { at: `/projects/${slug}/files?ref=${encodeURIComponent(hostileBranch)}`, reads: poison },
    {
      at: `/projects/${slug}/files?path=${encodeURIComponent('<img src=x onerror=alert(1)>\u202egnp')}`,
      reads: /Files/,
    },
  ],
  searchFiles: ({ slug, hostileBranch }) => [
    {
      at: `/projects/${slug}/files/search?ref=${encodeURIComponent(hostileBranch)}&text=${encodeURIComponent('onerror=')}`,
      reads: poison,
    },
  ],
  commits: ({ slug, hostileBranch }) => [
    { at: `/projects/${slug}/commits?ref=${encodeURIComponent(hostileBranch)}`, reads: poison },
  ],
  commit: ({ slug, hostileCommit }) => [{ at: `/projects/${slug}/commits/${hostileCommit}`, reads: poison }],
  triggers: ({ slug }) => [{ at: `/projects/${slug}/triggers`, reads: poison }],
  apps: ({ slug }) => [{ at: `/projects/${slug}/apps`, reads: poison }],
  openApp: ({ slug }) => [
    {
      at: `/projects/${slug}/apps/${encodeURIComponent('<img src=x onerror=alert(1)>')}/open?path=//evil.test`,
      reads: /./,
    },
  ],
  secrets: ({ slug }) => [{ at: `/projects/${slug}/secrets`, reads: /MISSING_KEY/ }],
  channels: ({ slug }) => [{ at: `/projects/${slug}/channels`, reads: poison }],
  projectTokens: ({ slug }) => [{ at: `/projects/${slug}/tokens`, reads: poison }],
  webhooks: ({ slug }) => [{ at: `/projects/${slug}/webhooks`, reads: poison }],
  projectUsage: ({ slug }) => [{ at: `/projects/${slug}/usage`, reads: poison }],
  settings: ({ slug }) => [{ at: `/projects/${slug}/settings`, reads: poison }],
  linkChat: () => [{ at: '/link-chat#%3Cimg%20src=x%20onerror=alert(1)%3E', reads: /no code/ }],
  members: () => [{ at: '/account/members', reads: poison }],
  tokens: () => [{ at: '/account/tokens', reads: poison }],
  audit: () => [{ at: '/account/audit', reads: /webhook/i }],
  usage: () => [{ at: '/account/usage', reads: poison }],
  profile: () => [{ at: '/account/profile', reads: poison }],
  // Values that an owner set, not text of an agent.
  modelSettings: () => [{ at: '/settings/model', reads: /environment sets the model/ }],
  serverSettings: () => [{ at: '/settings/server', reads: /Largest projects/ }],
}

test.skipIf(!browserPath)(
  'on no page does hostile content run, leave the page, or imitate the page',
  async () => {
    const { page, server, complaints } = story
    const wrong: string[] = []
    const origin = new URL(server.url).origin
    page.on('dialog', (dialog) => {
      wrong.push(`${page.url()}: a dialog`)
      void dialog.dismiss()
    })
    page.context().on('page', (opened) => wrong.push(`${page.url()}: a window ${opened.url()}`))
    page.context().on('request', (request) => {
      const url = new URL(request.url())
      if (url.protocol !== 'blob:' && url.origin !== origin) wrong.push(`${page.url()}: asked ${url.href}`)
    })
    expect(Object.keys(table).toSorted()).toEqual(Object.keys(paths).toSorted())
    for (const [name, looks] of Object.entries(table))
      for (const [index, { at, reads }] of looks(planted).entries()) {
        await page.setViewportSize({ width: 360, height: 900 })
        await page.goto(server.url + at)
        const text = await readOnce(page, reads).catch(() => '')
        if (!reads.test(text)) wrong.push(`${name} ${index}: ${reads} is not there to be read: ${text.slice(0, 400)}`)
        await page.screenshot({ path: join(pictures, `hostile-${name}-${index}-360.png`) })
        wrong.push(...(await findFlaws(page)).map((flaw) => `${name} ${index} at 360: ${flaw}`))
        await page.setViewportSize({ width: 1280, height: 900 })
        wrong.push(...(await findFlaws(page)).map((flaw) => `${name} ${index} at 1280: ${flaw}`))
        if (page.url().startsWith(`${origin}/`) === false) wrong.push(`${name} ${index}: led to ${page.url()}`)
      }
    expect(wrong).toEqual([])
    expect(complaints).toEqual([])
    expect(stranger.asked).toEqual([])
  },
  300_000,
)

/** All text of the page once it holds what it has to. */
function readOnce(page: Page, reads: RegExp): Promise<string> {
  return until(
    `the page to say ${reads}`,
    async () => {
      const text = (await page.evaluate(`(${textOf.toString()})(document.body)`)) as string
      return reads.test(text) && !/Loading [a-z ]+…/.test(text) && text
    },
    60_000,
  )
}

/** Runs in the page; what is in shadow trees, too. */
function textOf(root: Node): string {
  let text = ''
  for (const node of root.childNodes) {
    if (node.nodeType === 3) text += node.nodeValue
    else if (!/^(SCRIPT|STYLE|NOSCRIPT)$/i.test(node.nodeName))
      text += ` ${textOf(node)}${(node as Element).shadowRoot ? textOf((node as Element).shadowRoot!) : ''}`
  }
  return text
}

/** Runs in the page. */
async function findFlaws(page: Page): Promise<string[]> {
  return (await page.evaluate(`(${flawsOf.toString()})(${textOf.toString()})`)) as string[]
}

function flawsOf(text: (root: Node) => string): string[] {
  const flaws: string[] = []
  const everything = (root: ParentNode): Element[] =>
    [...root.querySelectorAll('*')].flatMap((element) => [
      element,
      ...(element.shadowRoot ? everything(element.shadowRoot) : []),
    ])
  const unseen = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff]/u
  if ((window as { __canary?: unknown }).__canary !== undefined) flaws.push('something ran')
  if (!/(^| · )svc$/.test(document.title) || unseen.test(document.title)) flaws.push(`the title is ${document.title}`)
  const { scrollWidth } = document.documentElement
  if (scrollWidth > innerWidth) {
    const widest = everything(document)
      .filter((element) => element.getBoundingClientRect().right > innerWidth + 1 && element.closest('nav') === null)
      .map((element) => `${element.tagName} ${element.className}`)
    flaws.push(`it is ${scrollWidth} wide: ${widest.slice(0, 4).join(' | ')}`)
  }
  for (const element of everything(document)) {
    // A terminal shows the output of the shell.
    if (element.closest('.xterm, script, style')) continue
    for (const node of element.childNodes)
      if (node.nodeType === 3 && unseen.test(node.nodeValue ?? ''))
        flaws.push(
          `not to be seen in ${element.tagName} ${element.className}: ${JSON.stringify(node.nodeValue!.slice(0, 60))}`,
        )
    for (const { name, value } of element.attributes) {
      if (name.startsWith('on')) flaws.push(`${element.tagName} has ${name}`)
      if (/^(title|alt|aria-label|placeholder)$/.test(name) && unseen.test(value))
        flaws.push(`not to be seen in ${name} of ${element.tagName}`)
      if (/^(href|src|action|formaction|srcdoc|data|xlink:href)$/.test(name)) {
        const to = new URL(value, location.href)
        if (!/^(https?|blob|mailto):$/.test(to.protocol))
          flaws.push(`${element.tagName} leads to ${value.slice(0, 60)}`)
        const isLink = element.tagName === 'A'
        if (!isLink && to.protocol !== 'blob:' && to.origin !== location.origin)
          flaws.push(`${element.tagName} loads ${value.slice(0, 60)}`)
        if (isLink && to.origin !== location.origin && !/noopener|noreferrer/.test((element as HTMLAnchorElement).rel))
          flaws.push(`a link to ${to.origin} takes this window along`)
      }
    }
    if (/^(IFRAME|OBJECT|EMBED|BASE|FORM\[action\])$/.test(element.tagName)) flaws.push(`there is a ${element.tagName}`)
  }
  if (/Something went wrong/.test(text(document.body))) flaws.push('it broke')
  return [...new Set(flaws)].slice(0, 8)
}

test.skipIf(!browserPath)(
  'the policy of a page would stop a script that got into it',
  async () => {
    const { page, server } = story
    const refused = listenForComplaints(page)
    const before = stranger.asked.length
    await page.goto(`${server.url}/account/profile`)
    await page.getByRole('heading', { name: 'Profile' }).waitFor()
    const stopped = (await page.evaluate(`(${tryAll.toString()})(${JSON.stringify(stranger.url)})`)) as string[]
    expect(stopped.toSorted()).toEqual(
      [
        'base-uri',
        'connect-src',
        'frame-src',
        'form-action',
        'img-src',
        'script-src-attr',
        'script-src-elem',
        'style-src-elem',
      ].toSorted(),
    )
    expect(await page.evaluate('window.__canary')).toBeUndefined()
    expect(page.url()).toBe(`${server.url}/account/profile`)
    expect(refused.length).toBeGreaterThan(0)
    expect(stranger.asked.length).toBe(before)
  },
  120_000,
)

/** Runs in the page, as if its own code had written this. Returns what the policy blocked. */
async function tryAll(far: string): Promise<string[]> {
  const stopped = new Set<string>()
  document.addEventListener('securitypolicyviolation', (event) => stopped.add(event.effectiveDirective.split(' ')[0]!))
  const box = document.createElement('div')
  document.body.append(box)
  box.innerHTML = `<img src="${far}/i.png"><b onclick="window.__canary=1">x</b><iframe src="${far}/frame"></iframe><base href="${far}/">`
  document.head.append(box.querySelector('base')!)
  box.querySelector('b')!.click()
  const script = document.createElement('script')
  script.textContent = 'window.__canary = 1'
  box.append(script)
  const remote = document.createElement('script')
  remote.src = `${far}/script.js`
  box.append(remote)
  const style = document.implementation.createHTMLDocument().createElement('style')
  style.textContent = `@import "${far}/style.css"`
  box.append(style)
  const form = document.createElement('form')
  form.action = `${far}/form`
  box.append(form)
  form.submit()
  await fetch(`${far}/fetch`, { mode: 'no-cors' }).catch(() => {})
  const deadline = Date.now() + 45_000
  while (stopped.size < 8 && Date.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 50))
  box.remove()
  return [...stopped]
}
