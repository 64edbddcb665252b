/** Real agents in real sandboxes: what they reach through connectors, what they never see, and what a merge gives them. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js'
import type { Session } from '@svc/contract'
import { z } from 'zod'
import { browserPath, openBrowser } from './browser.ts'
import { git, makeFirstCommit, Server, until } from './harness.ts'

setDefaultTimeout(600_000)
/** Where the pictures go, to be looked at. */
const pictures = join(import.meta.dir, '../../dist/screens')

/** In two halves, so that a script can look for the whole without holding it. */
const halves = ['canary-6Lw9', 'x2Pq-credential'] as const
const credential = halves.join('')
const plain = ['canary-of-a', 'plain-secret'] as const

let server: Server
let project: string
let tree: string
/** Serves every test but the last step of the last one: a runtime takes long to start. */
let session: string
let notes: { url: string; kept: string[]; seen: Set<string | null>; stop(): void }

beforeAll(async () => {
  notes = serveNotes()
  server = await Server.start()
  project = (await server.json<{ project_id: string }>(['projects', 'create', '--name', 'connected'])).project_id
  await makeFirstCommit(server, project)
  tree = join(server.dir, 'tree')
  await git(server.dir, 'clone', '--quiet', remote(), tree)
  for (const [name, value] of Object.entries({ NOTES_KEY: credential, PLAIN: plain.join('') })) {
    const set = await server.svc(['secrets', 'set', `${name}=-`, '--project', project], { input: `${value}\n` })
    expect(set.code).toBe(0)
  }
})
afterAll(async () => {
  await server?.end()
  notes?.stop()
})

/** Tells and keeps notes for whoever has the credential, and repeats it like a careless server. */
function serveNotes(): typeof notes {
  const kept: string[] = []
  const seen = new Set<string | null>()
  const http = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 0,
    async fetch(request) {
      seen.add(request.headers.get('authorization'))
      if (request.headers.get('authorization') !== `Bearer ${credential}`)
        return new Response('who are you?', { status: 401 })
      const mcp = new McpServer({ name: 'notes', version: '1.0.0' })
      const about = { description: 'Read the notes', annotations: { readOnlyHint: true } }
      mcp.registerTool('read', about, () => ({
        content: [{ type: 'text', text: `The notes say: water the plants. (${credential})` }],
      }))
      mcp.registerTool('write', { description: 'Write a note', inputSchema: { text: z.string() } }, ({ text }) => {
        kept.push(text)
        return { content: [{ type: 'text', text: `noted: ${text}` }] }
      })
      const transport = new WebStandardStreamableHTTPServerTransport()
      await mcp.connect(transport)
      return transport.handleRequest(request)
    },
  })
  return { url: `http://127.0.0.1:${http.port}/mcp`, kept, seen, stop: () => void http.stop(true) }
}

function remote(): string {
  const url = new URL(`${server.url}/v1/projects/${project}/git`)
  url.username = 'x-access-token'
  url.password = server.token
  return url.href
}

/** By a change request that a person merges, as everything reaches the default branch. */
async function merge(branch: string, files: Record<string, string>): Promise<void> {
  await git(tree, 'fetch', '--quiet', 'origin')
  await git(tree, 'switch', '--quiet', '--create', branch, 'origin/main')
  for (const [path, text] of Object.entries(files)) await Bun.write(join(tree, path), text)
  await git(tree, 'add', '.')
  await git(tree, 'commit', '--quiet', '-m', branch)
  await git(tree, 'push', '--quiet', 'origin', branch)
  const of = ['--project', project]
  const { number } = await server.json<{ number: number }>(['cr', 'open', '--title', branch, '--head', branch, ...of])
  await server.json(['cr', 'merge', String(number), ...of])
}

const scripted = (...lines: string[]) => ['Do this.', '', '```svc-script', ...lines, '```'].join('\n')

async function start(prompt: string, more: string[] = []): Promise<string> {
  const args = ['--no-wait', '--model', 'svc-scripted-demo', '--prompt', prompt, '--project', project, ...more]
  return (await server.json<{ session_id: string }>(['sessions', 'new', ...args])).session_id
}

/** Sends the next prompt of the session. */
async function prompt(...lines: string[]): Promise<void> {
  const body = JSON.stringify({ text: scripted(...lines) })
  const headers = { 'content-type': 'application/json' }
  const path = `/v1/projects/${project}/sessions/${session}/prompt`
  expect((await server.api(path, { method: 'POST', headers, body })).status).toBe(202)
}

interface Part {
  type: string
  tool?: string
  text?: string
  output?: string
  error?: string
}

async function partsOf(session: string): Promise<Part[]> {
  const info = await server.json<{ session: { status: string; error: string | null } }>([
    ...['sessions', 'info', session, '--project', project],
  ])
  if (info.session.status === 'failed') throw new Error(`The session failed: ${info.session.error}`)
  const response = await server.api(`/v1/projects/${project}/sessions/${session}/transcript`)
  const { messages } = (await response.json()) as { messages: { role: string; parts: Part[] }[] }
  return messages.filter(({ role }) => role === 'assistant').flatMap(({ parts }) => parts)
}

/** The whole conversation of the agent, once it has arrived. */
const said = (session: string, mark: RegExp) =>
  until(`the agent to come to ${mark}`, async () => {
    const parts = await partsOf(session)
    const text = parts.map(({ text, output, error }) => `${text ?? ''}\n${output ?? ''}\n${error ?? ''}`).join('\n')
    if (/I stop here/.test(text)) throw new Error(text)
    return mark.test(text) && { parts, text }
  })

/** Prints `name: n` with how many places inside hold the value: environment, processes, files. */
function search(name: string, [first, second]: readonly [string, string]): string[] {
  const needle = `n=$(printf '%s%s' '${first}' '${second}')`
  return [
    'mkdir -p /tmp/look && cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline > /tmp/look/processes 2>/dev/null; env > /tmp/look/env; true',
    `${needle}; echo "${name} in environment: $(cat /tmp/look/env /tmp/look/processes | grep -acF -- "$n")"; rm -rf /tmp/look`,
    `${needle}; echo "${name} in files: $(grep -rlsaF -- "$n" /workspace /opt /run /tmp /etc /home /root /var 2>/dev/null | wc -l)"`,
  ]
}

test('an agent calls a tool of a connector and never sees the credential', async () => {
  await merge('notes', {
    'svc.toml': `[[connectors]]\nslug = "notes"\ntype = "mcp"\nurl = "${notes.url}"\nauth = { type = "bearer", secret_env = "NOTES_KEY" }\n`,
  })
  await until('the connector to have its tools', async () => {
    const args = ['connectors', 'show', 'notes', '--project', project]
    return (await server.json<{ status: string }>(args)).status === 'ready'
  })
  session = await start(
    scripted(
      '@svc_notes_read',
      ...search('credential', halves),
      ...search('plain', plain),
      '@svc_list_secret_names',
      'echo "ALL LOOKED"',
    ),
  )
  const { parts, text } = await said(session, /^ALL LOOKED/m)
  expect(parts.find(({ tool }) => tool === 'svc_notes_read')?.output).toContain(
    'water the plants. ([credential removed])',
  )
  expect([...notes.seen]).toEqual([`Bearer ${credential}`])
  expect(text).toMatch(/^credential in environment: 0$/m)
  expect(text).toMatch(/^credential in files: 0$/m)
  // The same search finds what is there.
  expect(text).not.toMatch(/^plain in environment: 0$/m)
  expect(text).toMatch(/^plain in environment: \d+$/m)
  expect(text).toContain('NOTES_KEY')
  expect(JSON.stringify(parts)).not.toContain(credential)
  expect(server.output).not.toContain(credential)
})

test('a call that changes something waits for a person in the client', async () => {
  await prompt('@svc_notes_write {"text":"buy seeds"}', 'echo "AFTER THE NOTE"')
  interface Approval {
    approval_id: string
    tool: string
    session_id: string
  }
  const asked = await until('the call to wait', async () => {
    const args = ['connectors', 'approvals', '--project', project]
    return (await server.json<{ approvals: Approval[] }>(args)).approvals[0]
  })
  expect(asked).toMatchObject({ tool: 'write', session_id: session })
  expect(notes.kept).toEqual([])
  const approved = await server.svc(['connectors', 'approve', asked.approval_id.slice(0, 8), '--project', project])
  expect(approved.code).toBe(0)
  const { text } = await said(session, /^AFTER THE NOTE/m)
  expect(text).toContain('noted: buy seeds')
  expect(notes.kept).toEqual(['buy seeds'])
  const audit = await server.svc(['audit', '--json', '--project', project])
  expect(audit.stdout).toContain('connector.approve')
  expect(audit.stdout).toContain('notes/write')
})

test.skipIf(!browserPath)('a person approves calls and sets policies on the connectors page', async () => {
  const browser = await openBrowser()
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } })
  await page.goto((await server.json<{ url: string }>(['self-host', 'owner-link'])).url)
  await page.getByRole('button', { name: /sign in/i }).click()
  await page.getByRole('heading', { name: 'Inbox' }).waitFor()

  await prompt('@svc_notes_write {"text":"mow the lawn"}', 'echo "AFTER THE LAWN"')
  const waiting = page.getByRole('list', { name: 'Calls waiting for approval' })
  await page.getByRole('link', { name: 'Call notes/write' }).click()
  await waiting.getByText('mow the lawn').waitFor()
  await page.goto(`${server.url}/projects/connected/connectors`)
  await waiting.getByText('mow the lawn').waitFor()
  await page.getByRole('list', { name: 'Tools of notes' }).getByText('Write a note').waitFor()
  await mkdir(pictures, { recursive: true })
  for (const [width, colorScheme] of [
    [1280, 'light'],
    [360, 'dark'],
  ] as const) {
    await page.setViewportSize({ width, height: 900 })
    await page.emulateMedia({ colorScheme })
    await page.evaluate(await readFile(require.resolve('axe-core/axe.min.js'), 'utf8'))
    expect(await page.evaluate('axe.run().then(({ violations }) => violations.map(({ id }) => id))')).toEqual([])
    await page.screenshot({ path: join(pictures, `connectors-${width}-${colorScheme}.png`), fullPage: true })
  }
  // On the page of the session the same call waits, and nothing else.
  await page.goto(`${server.url}/projects/connected/sessions/${session}`)
  await waiting.getByText('mow the lawn').waitFor()
  await page.getByRole('button', { name: 'Always allow this tool' }).click()
  await said(session, /^AFTER THE LAWN/m)
  expect(notes.kept).toEqual(['buy seeds', 'mow the lawn'])
  await page.goto(`${server.url}/projects/connected/connectors`)
  const write = page.getByLabel('Policy for write')
  await until('the decision to be shown', async () => (await write.inputValue()) === 'allow')
  await write.selectOption('block')
  await until('the tool to be blocked', async () => {
    const found = await server.json<{ tools: { name: string; policy: string }[] }>([
      ...['connectors', 'show', 'notes', '--project', project],
    ])
    return found.tools.find(({ name }) => name === 'write')?.policy === 'block'
  })
  await browser.close()
})

test('a skill and an agent reach new and running sessions after their merge, and not before', async () => {
  const look = scripted(
    'echo "agent: $SVC_AGENT_NAME"; ls "$OPENCODE_CONFIG_DIR/agents" "$OPENCODE_CONFIG_DIR/skills" 2>/dev/null; true',
    '@skill {"name":"greet"}',
    'echo "HAVE LOOKED"',
  )
  const unknown = await server.svc([
    ...['sessions', 'new', '--no-wait', '--agent', 'gardener', '--model', 'svc-scripted-demo', '--project', project],
  ])
  expect(unknown.code).toBe(1)
  const before = await listed('THE OLD')
  expect(before).not.toContain('gardener.md')
  expect(before).not.toContain('greet')
  await merge('skills', {
    '.svc/runtime/skills/greet/SKILL.md':
      '---\nname: greet\ndescription: How to greet here\n---\nSay "a very good morning to the garden".\n',
    '.svc/runtime/agents/gardener.md': '---\ndescription: Gardens\nmode: primary\n---\nYou are the gardener.\n',
  })
  const after = await start(look, ['--agent', 'gardener'])
  const { text } = await said(after, /^HAVE LOOKED/m)
  expect(text).toMatch(/^agent: gardener$/m)
  expect(text).toContain('gardener.md')
  expect(text).toContain('a very good morning to the garden')
  await until('the session that runs to be refreshed', async () => {
    const found = await server.json<{ session: Session }>(['sessions', 'info', session, '--project', project])
    return found.session.refresh?.applied.includes('agents') === true
  })
  const now = await listed('THE NEW')
  expect(now).toContain('gardener.md')
  expect(now).toContain('greet')
})

/** The files in the config dir of the first session's agent; the conversation ends with `last`. */
async function listed(last: string): Promise<string> {
  const look = scripted('ls "$OPENCODE_CONFIG_DIR/skills" "$OPENCODE_CONFIG_DIR/agents"; true', `echo "${last}"`)
  const chat = await server.svc(['sessions', 'chat', session, '--project', project, '--prompt', look])
  expect(chat.stdout + chat.stderr).toContain(last)
  return (await said(session, new RegExp(`^${last}`, 'm'))).text
}
