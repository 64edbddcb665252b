/** A conversation of two thousand messages, most of them with tool calls, in a busy session. */
import { median } from '../report/figures.ts'
import { type Server, until } from '../../test/e2e/harness.ts'
import { insertMessages } from '../../test/e2e/large-fixtures.ts'
import { memoryRemark, paints, type Report, scrollFigure, scrollRemark } from './measures.ts'
import { makeProject, type Project, type World } from './world.ts'

const count = 2_000
const message = 'ol[aria-label="Messages"] article'

export async function conversations(world: World): Promise<Report> {
  const { server, page } = world
  const { project } = await makeProject(server, 'conversations', { 'a.txt': 'a\n' })
  const short = await startSession(server, project)
  const long = await startSession(server, project)
  await insertMessages(server, long, count)
  const addressOf = (session: string) => `${server.url}/projects/${project.slug}/sessions/${session}`
  const what = `a conversation of ${count} messages`
  const floorMs = median(await paints(page, addressOf(short), message))
  const ms = median(await paints(page, addressOf(long), message))
  await page.getByText(`This was said ${count - 1}.`).waitFor()
  const up = await scrollFigure(page, '  longest task while scrolling to its beginning', 'conversation-scroll', () =>
    page.evaluate((own) => window.probe.scroll(null, -700, own), 'section[aria-label="Conversation"] [data-beginning]'),
  )
  await page.getByText('This was said 0.').waitFor()
  const back = await scrollFigure(page, '  longest task while scrolling back to its end', null, () =>
    page.evaluate(() => window.probe.scroll(null, 700, '')),
  )
  return {
    figures: [
      { what: `${what}: first paint`, ms, floor: 'the same page, one prompt', floorMs },
      up.figure,
      back.figure,
    ],
    remarks: [
      scrollRemark(what, up.scrolled, ' with what was loaded on the way'),
      `${what}: back in ${(back.scrolled.ms / 1000).toFixed(1)} s; at most ${back.scrolled.nodesMax} elements in the document.`,
      await memoryRemark(`${what}, all of it loaded`, world),
      await movedByNews(world, project, long),
    ],
  }
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
    const { messages } = await server.send<{ messages: { role: string; completed_at: string | null }[] }>(
      'GET',
      `/v1/projects/${project.project_id}/sessions/${session}/transcript`,
    )
    return messages.some(({ role, completed_at: at }) => role === 'assistant' && at !== null)
  })
  return session
}

async function prompt(server: Server, project: Project, session: string, text: string): Promise<void> {
  await server.send('POST', `/v1/projects/${project.project_id}/sessions/${session}/prompt`, { text })
}
