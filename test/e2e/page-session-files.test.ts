/** The work tree of a session in a browser: as the agent left it a moment ago, by mouse and keyboard, and saved once it stopped. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtemp } from 'node:fs/promises'
import { join } from 'node:path'
import { browserPath } from './browser.ts'
import { git } from './harness.ts'
import { axeViolations, beginPageStory, expectItLooksRight, gatewayOf, type PageStory, script } from './page-story.ts'

const slow = { timeout: 120_000 }
let story: PageStory
let project: { project_id: string; slug: string }
let sessionId: string

/** One red pixel. */
const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=='

const inProject = () => ['--project', project.project_id]

beforeAll(async () => {
  story = await beginPageStory()
  const { server } = story
  project = await server.json(['projects', 'create', '--name', 'tree'])
  const clone = await mkdtemp(join(server.dir, 'clone-'))
  await git(clone, 'init', '--quiet', '--initial-branch=main')
  const files = {
    'src/main.ts': "import { b } from './deep/b.ts'\n\nexport const answer = b + 41\n",
    'src/deep/b.ts': 'export const b = 1\n',
    'README.md': '# Tree\n',
    '.gitignore': 'node_modules/\n.env*\n',
    'logo.png': Buffer.from(png, 'base64'),
  }
  for (const [path, content] of Object.entries(files)) await Bun.write(join(clone, path), content)
  await git(clone, 'add', '--all')
  await git(clone, 'commit', '--quiet', '-m', 'First')
  await git(clone, 'push', '--quiet', gatewayOf(server, project), 'main')
  await server.send('POST', `/v1/projects/${project.project_id}/secrets`, {
    name: 'API_KEY',
    value: 'sk-live-0123456789abcdef',
  })
  const made = await server.json<{ session_id: string }>([
    ...['sessions', 'new', '--model', 'svc-scripted-demo', '--name', 'Build the tree', ...inProject()],
  ])
  sessionId = made.session_id
  await ask(
    script(
      "echo 'export const c = 3' > src/new.ts; echo '// changed' >> src/main.ts; mkdir -p node_modules/x; echo 1 > node_modules/x/index.js",
      'echo "API_KEY=$API_KEY" > .env; ln -s /etc/passwd passwd; ln -s /etc etc; mkfifo pipe; truncate -s 3G huge.bin; echo closed > closed.txt; chmod 0 closed.txt',
      "mkdir odd; cd odd; touch \"$(printf 'two\\nlines.txt')\" \"$(printf 'safe\\342\\200\\256gnp.exe')\" \"$(printf 'caf\\351.txt')\" '<img src=x onerror=alert(1)>.txt'",
      'mkdir zmany; cd zmany; seq -f file-%05g 6000 | xargs touch',
    ),
  )
}, 300_000)
afterAll(() => story?.end(), 120_000)

/** Returns when the agent has answered. */
async function ask(prompt: string): Promise<void> {
  const asked = await story.server.svc(['sessions', 'chat', sessionId, ...inProject(), '--prompt', prompt])
  if (asked.code !== 0) throw new Error(asked.stderr)
}

const row = (name: string | RegExp) => story.page.getByRole('treeitem', { name })
const content = () => story.page.getByRole('region', { name: 'Content of the file' })

test.skipIf(!browserPath)(
  'a person opens folders and files, and sees what git says of each',
  async () => {
    const { page, complaints } = story
    await page.goto(`${story.server.url}/projects/${project.slug}/sessions/${sessionId}`)
    await page.getByRole('list', { name: 'Changed files' }).getByText('src/new.ts').waitFor(slow)
    await expectItLooksRight(story, 'session-with-files')
    await page.setViewportSize({ width: 360, height: 800 })
    await page.getByRole('link', { name: 'Browse files' }).waitFor()
    await page.setViewportSize({ width: 1280, height: 800 })
    await page.getByRole('link', { name: 'src/new.ts' }).click()
    await content().getByText('export const c = 3').waitFor(slow)
    await page.getByRole('link', { name: 'Build the tree' }).last().click()
    await page.getByRole('link', { name: 'Files', exact: true }).last().click(slow)
    await page.getByRole('heading', { name: 'Files of Build the tree' }).waitFor()
    await row('Folder src changed').click()
    await row('File new.ts new').waitFor()
    await row('Folder node_modules ignored').waitFor()
    await row('File main.ts changed').click()
    await content().getByText('export const').first().waitFor(slow)
    await content().getByText('// changed').waitFor()
    await page.getByText(/4 lines · \d+ bytes · Changed/).waitFor()
    expect(new URL(page.url()).searchParams.get('path')).toBe('src/main.ts')
    expect(await row('File main.ts changed').getAttribute('aria-selected')).toBe('true')
    await expectItLooksRight(story, 'session-files')
    // The tree and the file have the window below the heading.
    await page.setViewportSize({ width: 1280, height: 800 })
    const below = `[...document.querySelectorAll('main section.rounded-lg')].map((card) => innerHeight - card.getBoundingClientRect().bottom)`
    expect((await page.evaluate(below)) as number[]).toSatisfy(
      (gaps) => gaps.length === 2 && gaps.every((px) => px < 40),
    )

    await page.reload()
    await content().getByText('// changed').waitFor(slow)
    await row('File new.ts new').waitFor()
    await row('File logo.png').click()
    await page.getByRole('img', { name: 'logo.png' }).waitFor()
    expect(complaints).toEqual([])
  },
  300_000,
)

test.skipIf(!browserPath)(
  'what the agent made there opens nothing outside, blocks nothing, and looks like what it is',
  async () => {
    const { page, complaints } = story
    await row('File .env ignored').click()
    await content().getByText('API_KEY=[redacted API_KEY]').waitFor(slow)
    await row('Symbolic link passwd new').click()
    await page.getByText('This link leads to /etc/passwd').waitFor()
    await row('Symbolic link etc new').click()
    await page.getByText('This link leads to /etc.').waitFor()
    await page.goto(`${story.server.url}/projects/${project.slug}/sessions/${sessionId}/files?path=etc%2Fpasswd`)
    await page.getByText('The path leads through a symbolic link').waitFor(slow)
    await row('Pipe, socket or device pipe new').click()
    await page.getByText('This is a pipe, a socket, or a device').waitFor()
    await row('File huge.bin new').click()
    await page.getByText('Binary file of 3.0 GiB. It is too large to load here.').waitFor()

    await row('Folder odd new').click()
    await row('File two␊lines.txt new').click()
    await page.getByText('This file is empty.').waitFor()
    await row(/caf\\351\.txt/).click()
    await page.getByText('This file is empty.').waitFor()
    await row(/<img src=x onerror/).waitFor()
    expect(await page.getByRole('tree').innerText()).not.toMatch(/[\u202a-\u202e]/)

    await row('Folder zmany new').click()
    await row('File file-00300 new').waitFor()
    expect(await row(/^File file-/).count()).toBe(300)
    await row('Show 300 more of 4700').click()
    await row('File file-00600 new').waitFor()
    expect(complaints).toEqual([])
  },
  300_000,
)

test.skipIf(!browserPath)(
  'the keyboard alone walks the tree, opens a file, and reads the files again',
  async () => {
    const { page, server } = story
    await page.goto(`${server.url}/projects/${project.slug}/sessions/${sessionId}/files`)
    await row('Folder src changed').waitFor(slow)
    const focused = () => page.evaluate('document.activeElement.textContent') as Promise<string>
    const press = async (...keys: string[]) => {
      for (const key of keys) await page.keyboard.press(key)
    }
    await row(/Folder/)
      .first()
      .focus()
    await press('End', 'Home')
    await row('Folder src changed').focus()
    await press('ArrowRight')
    await row('Folder deep').waitFor()
    await press('ArrowRight', 'ArrowRight')
    await row('File b.ts').waitFor()
    await press('ArrowDown')
    expect(await focused()).toBe('b.ts')
    await press('Enter')
    await content().getByText('export const b').waitFor(slow)
    await row('File b.ts').focus()
    await press('ArrowLeft', 'ArrowLeft')
    expect(await row('Folder deep').getAttribute('aria-expanded')).toBe('false')
    await press('ArrowLeft')
    expect(await focused()).toBe('srcchanged')

    await ask(script('echo late > src/late.ts'))
    await press('r')
    await row('File late.ts new').waitFor(slow)
    expect(await axeViolations(page)).toEqual([])
  },
  300_000,
)

test.skipIf(!browserPath)(
  'the client reads the same, and a stopped session shows what was saved',
  async () => {
    const { page, server } = story
    const top = await server.json<{ source: string; entries: { name: string; git: string }[] }>([
      ...['sessions', 'files', sessionId, ...inProject()],
    ])
    expect(top.source).toBe('sandbox')
    expect(top.entries).toContainEqual(expect.objectContaining({ name: 'node_modules', git: 'ignored' }))
    const printed = await server.svc(['sessions', 'files', sessionId, 'src/new.ts', ...inProject()])
    expect(printed.stdout).toBe('export const c = 3\n')

    // The daemon could read it: the files are read as the agent.
    const closed = await server.svc(['sessions', 'files', sessionId, 'closed.txt', ...inProject()])
    expect(closed.code).toBe(1)
    expect(closed.stderr).toContain("The agent's user may not read this file.")

    await server.json(['sessions', 'stop', sessionId, ...inProject()])
    await page.reload()
    await page.getByText('These are the files of its branch with the work that was saved last').first().waitFor(slow)
    await row('Folder src changed').waitFor()
    expect(await row(/node_modules/).count()).toBe(0)
    await expectItLooksRight(story, 'session-files-stopped')
  },
  300_000,
)
