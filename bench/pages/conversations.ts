/** A conversation of two thousand messages, most of them with tool calls, in a busy session. */
import { type Figure, median } from '../report/figures.ts'
import { type Server, until } from '../../test/e2e/harness.ts'
import { insertMessages } from '../../test/e2e/large-fixtures.ts'
import type { Report } from './changes.ts'
import { firstPaint, forgetTasks, longTasks, memoryOf, profiled } from './probe.ts'
import { makeProject, type Project, type World } from './world.ts'

const rounds = Number(process.env.BENCH_ROUNDS ?? 5)
const count = 2_000
const message = 'ol[aria-label="Messages"] article'

export async function conversations(world: World): Promise<Report> {
  const { server, page } = world
  const { project } = await makeProject(server, 'conversations', { 'a.txt': 'a\n' })
  const short = await startSession(server, project)
  const long = await startSession(server, project)
  await insertMessages(server, long, count)
  const addressOf = (session: string) => `${server.url}/projects/${project.slug}/sessions/${session}`
  const paints = async (session: string) => {
    const times: number[] = []
    for (let round = 0; round < rounds + 2; round++) times.push(await firstPaint(page, addressOf(session), message))
    return times.slice(2)
  }
  const what = `a conversation of ${count} messages`
  const floorMs = median(await paints(short))
  const paintedMs = median(await paints(long))
  const figures: Figure[] = [
    { what: `${what}: first paint`, ms: paintedMs, floor: 'the same page, one prompt', floorMs },
  ]
  const remarks: string[] = []
  await page.getByText(`This was said ${count - 1}.`).waitFor()

  await forgetTasks(page)
  const scrolled = await profiled(page, 'conversation-scroll', () =>
    page.evaluate((own) => window.probe.scroll(null, -700, own), 'section[aria-label="Conversation"] [data-beginning]'),
  )
  const tasks = await longTasks(page)
  await page.getByText('This was said 0.').waitFor()
  figures.push({
    what: '  longest task while scrolling to its beginning',
    ms: tasks.longestMs,
    floor: 'what is promised',
    floorMs: 100,
    note: `${tasks.count} over 50 ms`,
  })
  remarks.push(
    `${what}: ${scrolled.px.toFixed(0)} px in ${scrolled.frames} frames and ${(scrolled.ms / 1000).toFixed(1)} s with what was loaded on the way, the worst frame ${scrolled.worstFrameMs.toFixed(0)} ms; at most ${scrolled.nodesMax} elements in the document.`,
  )
  await forgetTasks(page)
  const back = await page.evaluate(() => window.probe.scroll(null, 700, ''))
  const backTasks = await longTasks(page)
  figures.push({
    what: '  longest task while scrolling back to its end',
    ms: backTasks.longestMs,
    floor: 'what is promised',
    floorMs: 100,
    note: `${backTasks.count} over 50 ms`,
  })
  remarks.push(`${what}: back in ${(back.ms / 1000).toFixed(1)} s; at most ${back.nodesMax} elements in the document.`)
  const { heapMiB, processMiB } = await memoryOf(page, world.whole)
  remarks.push(
    `${what}, all of it loaded: ${heapMiB.toFixed(0)} MiB of JavaScript, ${processMiB.toFixed(0)} MiB in the page's process.`,
  )
  remarks.push(await movedByNews(world, project, long))
  return { figures, remarks }
}

/** The agent's output while a reader looks at earlier messages. */
async function movedByNews({ server, page }: World, project: Project, session: string): Promise<string> {
  await page.evaluate(() => scrollTo(0, document.documentElement.scrollHeight / 2))
  const place = () =>
    page.evaluate(() => {
      const first = [...document.querySelectorAll('li[data-index]')].find(
        (row) => row.getBoundingClientRect().bottom > 0,
      )
      return { index: first?.getAttribute('data-index'), top: Math.round(first?.getBoundingClientRect().top ?? 0) }
    })
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))))
  const before = await place()
  const height = () => page.evaluate(() => document.documentElement.scrollHeight)
  const heightBefore = await height()
  await prompt(server, project, session, 'Say one more thing.')
  await until('the news to be on the page', async () => (await height()) > heightBefore)
  const after = await place()
  const moved = before.index === after.index ? Math.abs(before.top - after.top) : Number.NaN
  return `A live message moved what is read further up by ${moved} px.`
}

async function startSession(server: Server, project: Project): Promise<string> {
  const { session_id: session } = await server.json<{ session_id: string }>([
    ...['sessions', 'new', '--model', 'svc-scripted-demo', '--project', project.project_id],
  ])
  await prompt(server, project, session, 'Say a word.')
  await until('its answer', async () => {
    const answer = await server.api(`/v1/projects/${project.project_id}/sessions/${session}/transcript`)
    const { messages } = (await answer.json()) as { messages: { role: string; completed_at: string | null }[] }
    return messages.some(({ role, completed_at: at }) => role === 'assistant' && at !== null)
  })
  return session
}

async function prompt(server: Server, project: Project, session: string, text: string): Promise<void> {
  const answer = await server.api(`/v1/projects/${project.project_id}/sessions/${session}/prompt`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ text }),
  })
  if (!answer.ok) throw new Error(await answer.text())
}
