/** Puts the corpus everywhere a stranger's text can get into a server: by its routes, by git, by an agent in a sandbox, by a chat, by what connectors, apps and receivers answer. */
import { strictEqual } from 'node:assert'
import { mkdtemp } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js'
import { z } from 'zod'
import type { SlackServer } from '../../packages/server/src/channels/slack/testing-slack.ts'
import { gatewayOf, gitEnvironment, run, type Server, until } from './harness.ts'
import { fileNames, longText, picture, shortText, terminal, tinyText, turned } from './hostile-corpus.ts'
import { script } from './page-story.ts'

export interface Planted {
  slug: string
  sessionId: string
  /** A session whose agent runtime ended with such words, in a project of its own. */
  failed: { slug: string; sessionId: string }
  /** Numbers of change requests. */
  clean: number
  hostileBranch: string
  hostileCommit: string
  conflict: number
  broken: number
  end(): Promise<void>
}

interface Project {
  project_id: string
  slug: string
}

export async function plantHostileContent(server: Server, far: string, slack: SlackServer): Promise<Planted> {
  const long = longText(far)
  const short = shortText(far)
  const post = posterOf(server)
  const helper = serveHelper(long)
  const project = await post<Project>('/v1/projects', { name: short.slice(0, 100) })
  const base = `/v1/projects/${project.project_id}`
  const planting = { server, far, post, base, long, short }
  const numbers = await plantChangeRequests(planting, project, helper.url)
  const session = await plantSession(planting)
  const failed = await plantFailedSession(server, post)
  await plantNames(planting)
  const hook = await post<{ webhook_id: string }>(`${base}/webhooks`, {
    url: `${helper.url}/receive?<img/src=x/onerror=alert(1)>=${encodeURIComponent(turned)}`,
    events: ['*'],
  })
  await post(`${base}/webhooks/${hook.webhook_id}/ping`, {}, 202)

  // A chat whose names are chosen by strangers.
  slack.team.name = short
  slack.bot.name = short
  slack.channels.set('C0DEVTEAM', { name: short, is_member: true })
  await post(`${base}/channels`, {
    platform: 'slack',
    conversation_id: 'C0DEVTEAM',
    bot_token: slack.token,
    signing_secret: slack.secret,
  })

  const has = async (what: string, path: string, fits: (text: string) => boolean) =>
    until(what, async () => fits(await (await server.api(path)).text()), 240_000)
  await has('the tools of the connector', `${base}/connectors`, (text) => text.includes('"name":"write"'))
  await post(`${base}/triggers/hook/fire`, { message: long }, 202)
  await has('the failed delivery', `${base}/webhooks/${hook.webhook_id}/deliveries`, (text) => text.includes('500'))
  await has('the failed deploy', `${base}/apps`, (text) => text.includes('"failed"'))
  await has('the session that fails', failed.path, (text) => text.includes('"status":"failed"'))
  await has('the call that waits', `${base}/connector-approvals`, (text) => text.includes('onerror'))
  return {
    slug: project.slug,
    sessionId: session.session_id,
    failed: { slug: failed.slug, sessionId: failed.sessionId },
    ...numbers,
    end: async () => helper.stop(),
  }
}

type Post = <T>(path: string, body: object, status?: number) => Promise<T>

interface Planting {
  server: Server
  far: string
  post: Post
  /** The path of the project in the API. */
  base: string
  long: string
  short: string
}

const posterOf =
  (server: Server): Post =>
  (path, body, status = 201) =>
    server.send('POST', path, body, status)

/** Branches with hostile names, lines and pictures, and the change requests that show them. */
async function plantChangeRequests(
  { server, far, post, base, long, short }: Planting,
  project: Project,
  helperUrl: string,
): Promise<Pick<Planted, 'clean' | 'hostileBranch' | 'hostileCommit' | 'conflict' | 'broken'>> {
  const clone = await mkdtemp(join(server.dir, 'hostile-'))
  const git = gitAsStranger(clone)
  await git('init', '--quiet', '--initial-branch=main')
  await git('remote', 'add', 'origin', gatewayOf(server, project))
  const commit = async (files: Record<string, string>, message = long) => {
    for (const [path, text] of Object.entries(files)) {
      await run(['mkdir', '-p', dirname(join(clone, path))])
      await Bun.write(join(clone, path), text)
    }
    await git('add', '--all')
    await git('commit', '--quiet', '--cleanup=verbatim', '-m', message)
  }
  await commit({
    'svc.toml': manifest(helperUrl, long),
    'both.txt': 'one\n',
    'two\nlines <b>.txt': 'one\n',
    '.gitattributes': 'before.svg binary\n',
    'before.svg': picture(far),
  })
  await git('push', '--quiet', 'origin', 'main')

  // The branch a person is asked to merge: names, lines and pictures.
  const branch = `${tinyText}/work`
  await git('checkout', '--quiet', '-b', branch)
  await commit({
    ...Object.fromEntries(fileNames.map((name) => [name, name.endsWith('.svg') ? picture(far) : `${long}\n`])),
    'before.svg': picture(`${far}/after`),
    'both.txt': `${turned}\n`,
  })
  await git('push', '--quiet', 'origin', branch)
  const cr = await post<{ cr_id: string; number: number; head_commit_sha: string }>(`${base}/change-requests`, {
    title: short,
    description: long,
    head_ref: branch,
    metadata: { ['__proto__']: short },
  })
  const onLine = (path: string) => ({ path, side: 'new', line: 1, quote: long.slice(0, 4000), text: long })
  const suggestion = { ...onLine(fileNames[6]!), text: `\`\`\`suggestion\n${long.slice(0, 8000)}\n\`\`\`` }
  await post(`${base}/change-requests/${cr.cr_id}/reviews`, {
    head_sha: cr.head_commit_sha,
    body: long,
    comments: [...fileNames.slice(0, 6).map(onLine), suggestion],
    send: false,
  })
  // One that conflicts with what became of main, in files with such names; one whose svc.toml is broken.
  await git('checkout', '--quiet', '-b', 'conflict', 'main')
  await commit({ 'both.txt': 'other\n', 'two\nlines <b>.txt': 'other\n' })
  await git('push', '--quiet', 'origin', 'conflict')
  const conflict = await post<{ number: number }>(`${base}/change-requests`, {
    title: `${short} 2`,
    head_ref: 'conflict',
  })
  await git('checkout', '--quiet', '-b', 'broken', 'main')
  await commit({ 'svc.toml': brokenManifest(short) })
  await git('push', '--quiet', 'origin', 'broken')
  const broken = await post<{ number: number }>(`${base}/change-requests`, { title: `${short} 3`, head_ref: 'broken' })
  await git('checkout', '--quiet', '-b', 'ahead', 'main')
  await commit({ 'both.txt': 'ahead\n', 'two\nlines <b>.txt': 'ahead\n' })
  await git('push', '--quiet', 'origin', 'ahead')
  const ahead = await post<{ cr_id: string }>(`${base}/change-requests`, { title: `${short} 4`, head_ref: 'ahead' })
  await post(`${base}/change-requests/${ahead.cr_id}/merge`, { message: long }, 200)
  return {
    ...{ clean: cr.number, hostileBranch: branch, hostileCommit: cr.head_commit_sha },
    ...{ conflict: conflict.number, broken: broken.number },
  }
}

/** An agent that writes hostile text everywhere it can, and then waits for a person. */
async function plantSession({ far, post, base, long, short }: Planting): Promise<{ session_id: string }> {
  return await post<{ session_id: string }>(`${base}/sessions`, {
    name: short,
    model: 'svc-scripted-demo',
    initial_prompt: `${long.replaceAll('```', "'''")}\n\n${script(
      `printf '%b' '${terminal(far).replaceAll('\u001b', '\\033').replaceAll('\u0007', '\\007').replaceAll("'", '')}'; echo '<img src=x onerror=window.__canary=1>${turned}'`,
      `printf '%s' '<svg onload=alert(1)>' > '<img src=x onerror=alert(1)>.svg' && git add -A && git commit -qm '<script>window.__canary=1</script>${turned}'`,
      `svc cr open --title '<img src=x onerror=window.__canary=1>${turned}' --description '<script>alert(1)</script>'; echo '<iframe src=javascript:alert(1)>'`,
      `@svc_notes_write ${JSON.stringify({ text: `<img src=x onerror=window.__canary=1>${turned}` })}`,
    )}`,
    attachments: [short, '<img src=x onerror=window.__canary=1>.svg', 'x.png'].map((name) => ({
      name,
      content_base64: btoa('<svg xmlns="http://www.w3.org/2000/svg" onload="window.__canary=1"></svg>'),
    })),
  })
}

/** Names of people, tokens and secrets. */
async function plantNames({ server, post, base, short }: Planting): Promise<void> {
  const { account } = await server.send<{ account: { account_id: string } }>('GET', '/v1/accounts/me')
  const email = `"<img/src=x/onerror=alert(1)>"@example.test`
  for (const body of [
    { email, name: short.slice(0, 100) },
    { email: 'mallory@example.test', name: short.slice(0, 100) },
  ])
    await server.api(`/v1/accounts/${account.account_id}/members`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ...body, role: 'member' }),
    })
  await post('/v1/accounts/tokens', { name: short.slice(0, 100) })
  await post(`${base}/cli-token`, { name: short.slice(0, 100) })
  for (const name of ['__proto__', 'constructor', 'HASOWNPROPERTY']) {
    const set = await server.api(`${base}/secrets`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ name, value: 'kept from everybody, and long enough' }),
    })
    strictEqual([200, 400].includes(set.status), true)
  }
}

/** Its runtime is a program of the repository, which says what it likes before it ends. */
async function plantFailedSession(
  server: Server,
  post: Post,
): Promise<{ slug: string; sessionId: string; path: string }> {
  const project = await post<Project>('/v1/projects', { name: 'ends' })
  const clone = await mkdtemp(join(server.dir, 'ends-'))
  const git = gitAsStranger(clone)
  await git('init', '--quiet', '--initial-branch=main')
  await Bun.write(join(clone, 'svc.toml'), 'svc_version = 1\n[runtime]\ncommand = ["sh", "/workspace/runtime.sh"]\n')
  await Bun.write(
    join(clone, 'runtime.sh'),
    `printf '\\033]0;owned\\007'; echo '<img src=x onerror=window.__canary=1>${turned}'; exit 3\n`,
  )
  await git('add', '--all')
  await git('commit', '--quiet', '-m', 'It ends')
  await git('push', '--quiet', gatewayOf(server, project), 'main')
  const base = `/v1/projects/${project.project_id}`
  const { session_id } = await post<{ session_id: string }>(`${base}/sessions`, { name: 'It ends' })
  return { slug: project.slug, sessionId: session_id, path: `${base}/sessions/${session_id}` }
}

/** Written by any git client: no server checks the names of authors. */
function gitAsStranger(cwd: string) {
  const name = `"><img src=x onerror=window.__canary=1>${turned}`
  const env = {
    ...gitEnvironment,
    ...{ GIT_AUTHOR_NAME: name, GIT_COMMITTER_NAME: name },
    ...{ GIT_AUTHOR_EMAIL: `x"onload=alert(1)@example.test`, GIT_COMMITTER_EMAIL: 'x@example.test' },
  }
  return async (...args: string[]): Promise<void> => {
    const ran = await run(['git', ...args], { cwd, env })
    strictEqual(ran.code, 0, `git ${args[0]}: ${ran.stderr}`)
  }
}

const quoted = (text: string) => JSON.stringify(text).replaceAll('\u007f', '\\u007F').replaceAll('\u009b', '\\u009B')

function manifest(url: string, long: string): string {
  return `svc_version = 1
${quoted(`<img src=x onerror=alert(1)>${turned}`)} = 1

[project]
name = ${quoted(turned)}
description = ${quoted(long.slice(0, 1000).replaceAll(/[\n\u0000-\u001f\u009b]/g, ' '))}

[env]
required = ["MISSING_KEY", "<img src=x onerror=alert(1)>"]

[[triggers]]
slug = "hook"
type = "webhook"
prompt = ${quoted(`<img src=x onerror=alert(1)> {{message}} ${turned}`)}
secret_env = "MISSING_KEY"

[[triggers]]
slug = ${quoted(`<img src=x onerror=alert(1)>${turned}`)}
type = "cron"
cron = "<script>alert(1)</script>"
prompt = "x"

[[connectors]]
slug = "notes"
type = "mcp"
url = "${url}/mcp"

[[connectors]]
slug = "away"
type = "mcp"
url = "${url}/away?<img/src=x/onerror=alert(1)>"

[[connectors]]
slug = ${quoted(`<svg onload=alert(1)>${turned}`)}
type = "mcp"
url = "javascript:alert(1)"

[[apps]]
slug = "site"
command = "printf '\\\\033]0;owned\\\\007<img src=x onerror=alert(1)>\\\\342\\\\200\\\\256gnp'; exit 1"

[[apps]]
slug = "<img src=x onerror=alert(1)>"
command = "true"

[[checks]]
name = ${quoted(`check <img src=x onerror=window.__canary=1>${turned}`)}
command = "printf '\\\\033]0;owned\\\\007<img src=x onerror=alert(1)>'; exit 1"

[[channels]]
platform = ${quoted(`<img src=x onerror=alert(1)>${turned}`)}
`
}

function brokenManifest(short: string): string {
  return `svc_version = 1\n\n[[triggers]]\nslug = ${quoted(short)}\ntype = ${quoted(short)}\n\n[env]\nrequired = ["ANOTHER_ONE"]\n\n[[apps]]\nslug = "shop"\ncommand = ${quoted(`echo '<img src=x onerror=alert(1)>${turned}'`)}\n`
}

/** A tool server with such descriptions, and whatever else is asked, refused with such a page. */
function serveHelper(long: string): { url: string; stop(): void } {
  const http = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 0,
    async fetch(request) {
      if (new URL(request.url).pathname !== '/mcp')
        return new Response(long, { status: 500, headers: { 'content-type': 'text/html' } })
      const mcp = new McpServer({ name: 'notes', version: '1.0.0' })
      mcp.registerTool('write', { description: long, inputSchema: { text: z.string() } }, ({ text }) => ({
        content: [{ type: 'text', text }],
      }))
      const transport = new WebStandardStreamableHTTPServerTransport()
      await mcp.connect(transport)
      return transport.handleRequest(request)
    },
  })
  return { url: `http://127.0.0.1:${http.port}`, stop: () => void http.stop(true) }
}
