/** Files with a prompt, by the page and by the client, to a real agent in a real sandbox, and back on the page. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { join } from 'node:path'
import { crc32, deflateSync } from 'node:zlib'
import type { Locator } from 'playwright-core'
import { browserPath } from './browser.ts'
import { makeFirstCommit, until } from './harness.ts'
import {
  axeViolations,
  beginPageStory,
  expectItFits,
  type PageStory,
  pictures,
  script,
  takePictures,
} from './page-story.ts'

const slow = { timeout: 120_000 }
const files = '/opt/svc/attachments'

let story: PageStory
let project: { project_id: string; slug: string }
const inProject = () => ['--project', project.project_id]

beforeAll(async () => {
  story = await beginPageStory()
  const { server } = story
  project = await server.json(['projects', 'create', '--name', 'attachments'])
  await makeFirstCommit(server, project.project_id)
}, 300_000)
afterAll(() => story?.end(), 120_000)

/** The output of the agent's tools. */
async function printed(sessionId: string): Promise<string> {
  const answer = await story.server.api(`/v1/projects/${project.project_id}/sessions/${sessionId}/transcript`)
  const { messages } = (await answer.json()) as { messages: { parts: { type: string; output?: string }[] }[] }
  return messages
    .flatMap(({ parts }) => parts.flatMap(({ type, output }) => (type === 'tool' ? (output ?? '') : [])))
    .join('\n')
}

test('the client attaches files to the first and a later prompt, and the agent reads both', async () => {
  const { server } = story
  await Bun.write(join(server.dir, 'notes.txt'), 'written by hand\n')
  await Bun.write(join(server.dir, 'later.txt'), 'written later\n')
  const { session_id: id } = await server.json<{ session_id: string }>([
    ...['sessions', 'new', '--no-wait', '--model', 'svc-scripted-demo', ...inProject()],
    ...['--attach', join(server.dir, 'notes.txt'), '--prompt', script(`cat ${files}/*/notes.txt`)],
  ])
  await until('the agent to have read it', async () => (await printed(id)).includes('written by hand'))
  const chat = await server.svc([
    ...['sessions', 'chat', id, '--attach', join(server.dir, 'later.txt'), ...inProject()],
    ...['--prompt', script(`cat ${files}/*/later.txt`, `stat -c %A ${files}/*/later.txt`)],
  ])
  expect(chat.code).toBe(0)
  expect(await printed(id)).toContain('written later\n')
  expect(await printed(id)).toContain('-rw-r--r--')
}, 300_000)

test.skipIf(!browserPath)(
  'the page attaches chosen, pasted and dropped files, and shows them in the conversation',
  async () => {
    const { page, server, complaints } = story
    await page.goto(`${server.url}/projects/${project.slug}/sessions`)
    const task = page.getByRole('textbox', { name: /^Task/ })
    const chosen = page.getByRole('list', { name: 'Attachments' })
    const attach = async () => {
      const chooser = page.waitForEvent('filechooser')
      await page.getByRole('button', { name: 'Attach files' }).click()
      await (
        await chooser
      ).setFiles([
        { name: 'plan.md', mimeType: 'text/markdown', buffer: Buffer.from('# The plan\n') },
        { name: 'not-this.txt', mimeType: 'text/plain', buffer: Buffer.from('no') },
      ])
      await chosen.getByText('not-this.txt').waitFor()
    }
    await attach()
    // The form keeps its text when the page is left, and says that it has not kept the files.
    await task.fill('Read the plan')
    await page.getByRole('link', { name: 'Branches' }).click()
    await page.getByRole('heading', { name: 'Branches' }).waitFor()
    await page.getByRole('link', { name: 'Sessions' }).click()
    const missing = page.getByText('not kept when you left the page: plan.md, not-this.txt. Attach them again.')
    await missing.waitFor()
    expect(await task.inputValue()).toBe('Read the plan')
    expect(await axeViolations(page)).toEqual([])
    await takePictures(page, 'attachments-missing')
    await page.setViewportSize({ width: 1280, height: 800 })
    await page.emulateMedia({ colorScheme: 'light' })
    await task.fill('')
    await attach()
    await missing.waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Start session', exact: true }).click({ force: true })
    await page.getByText('Describe the task for the attached files').waitFor()
    await page.getByRole('button', { name: 'Remove not-this.txt' }).click()
    await task.fill(script(`ls ${files}/*`))
    await page.getByText('Agent, branch, and model').click()
    await page.getByLabel('Model').fill('svc-scripted-demo')
    await expectItFits(page)
    expect(await axeViolations(page)).toEqual([])
    await page.screenshot({ path: join(pictures, 'attach-new-session-1280.png') })
    await page.getByRole('button', { name: 'Start session', exact: true }).click()
    await page.waitForURL(/\/sessions\/[0-9a-f-]{36}$/)
    const sessionId = page.url().split('/').at(-1)!

    const conversation = page.getByRole('region', { name: 'Conversation' })
    await conversation.getByRole('link', { name: 'plan.md' }).waitFor(slow)
    await until('the agent to have listed it', async () => (await printed(sessionId)).includes('plan.md'))
    expect(await printed(sessionId)).not.toContain('not-this.txt')

    const box = page.getByRole('textbox', { name: /^Prompt/ })
    await give(box, 'paste', { name: 'image.png', type: 'image/png', content: picture(480, 270) })
    await give(box, 'drop', { name: 'page.html', type: 'text/html', content: Buffer.from('<script>alert(1)</script>') })
    await give(box, 'drop', { name: 'huge.bin', type: '', content: Buffer.alloc(10 * 1024 ** 2 + 1) })
    await page.getByRole('alert').filter({ hasText: 'huge.bin is larger than 10 MiB' }).waitFor()
    await box.fill(script(`wc -c ${files}/*/image.png`, '@bash {"command":"exit 3","description":"Fail"}'))
    await expectItFits(page)
    expect(await axeViolations(page)).toEqual([])
    await takePictures(page, 'attach-refused')
    await page.setViewportSize({ width: 1280, height: 800 })
    await page.getByRole('button', { name: 'Remove huge.bin' }).click()
    await page.getByRole('button', { name: 'Send' }).click()
    const image = conversation.getByRole('img', { name: 'image.png' })
    await image.waitFor(slow)
    await conversation.getByLabel('failed').waitFor(slow)
    await conversation.getByText('exit 3', { exact: true }).first().waitFor()
    await until('the image to be drawn', () =>
      image.evaluate((node) => (node as HTMLImageElement).naturalWidth === 480),
    )
    expect(await chosen.count()).toBe(0)
    await until('the agent to have measured it', async () =>
      (await printed(sessionId)).includes(String(picture(480, 270).length)),
    )

    const download = page.waitForEvent('download')
    await conversation.getByRole('link', { name: 'page.html' }).click()
    expect((await download).suggestedFilename()).toBe('page.html')
    const address = (await conversation.getByRole('link', { name: 'page.html' }).getAttribute('href'))!
    const headers = await page.evaluate(async (url) => [...(await fetch(url)).headers], address)
    expect(Object.fromEntries(headers)).toMatchObject({
      'content-type': 'application/octet-stream',
      'content-disposition': expect.stringContaining('attachment'),
      'x-content-type-options': 'nosniff',
    })
    await image.scrollIntoViewIfNeeded()
    await expectItFits(page)
    expect(await axeViolations(page)).toEqual([])
    await takePictures(page, 'attached')
    await page.setViewportSize({ width: 1280, height: 800 })
    expect(complaints).toEqual([])
  },
  400_000,
)

/** As a browser tells a page of pasted and dropped files. */
async function give(
  to: Locator,
  how: 'paste' | 'drop',
  file: { name: string; type: string; content: Buffer },
): Promise<void> {
  await to.evaluate(
    (node, { how, name, type, base64 }) => {
      const bytes = Uint8Array.from(atob(base64), (char) => char.charCodeAt(0))
      const data = new DataTransfer()
      data.items.add(new File([bytes], name, { type }))
      const so = { bubbles: true, cancelable: true }
      node.dispatchEvent(
        how === 'paste'
          ? new ClipboardEvent('paste', { ...so, clipboardData: data })
          : new DragEvent('drop', { ...so, dataTransfer: data }),
      )
    },
    { how, name: file.name, type: file.type, base64: file.content.toString('base64') },
  )
}

/** A PNG of two colours that run into each other. */
function picture(width: number, height: number): Buffer {
  const row = (y: number) =>
    Buffer.from([0, ...Array.from({ length: width }, (_, x) => [(255 * x) / width, (255 * y) / height, 160]).flat()])
  const chunk = (type: string, data: Buffer) => {
    const named = Buffer.concat([Buffer.from(type), data])
    const frame = Buffer.alloc(8)
    frame.writeUInt32BE(data.length)
    frame.writeUInt32BE(crc32(named), 4)
    return Buffer.concat([frame.subarray(0, 4), named, frame.subarray(4)])
  }
  const head = Buffer.alloc(13)
  head.writeUInt32BE(width)
  head.writeUInt32BE(height, 4)
  // Eight bits each of red, green and blue.
  head.set([8, 2, 0, 0, 0], 8)
  return Buffer.concat([
    Buffer.from('89504e470d0a1a0a', 'hex'),
    chunk('IHDR', head),
    chunk('IDAT', deflateSync(Buffer.concat(Array.from({ length: height }, (_, y) => row(y))))),
    chunk('IEND', Buffer.alloc(0)),
  ])
}
