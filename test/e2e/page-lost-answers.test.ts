/** The service acts, and its answer is lost: the page gets the answer again, and nothing is done twice. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { browserPath } from './browser.ts'
import { makeFirstCommit, until } from './harness.ts'
import { beginPageStory, type PageStory } from './page-story.ts'

let story: PageStory
let project: { project_id: string; slug: string }
const slow = { timeout: 60_000 }
/** The request itself and its repetitions by the page. */
const attempts = 4

beforeAll(async () => {
  if (!browserPath) return
  story = await beginPageStory({ SVC_SANDBOX_DRIVER: 'none' })
  project = await story.server.json(['projects', 'create', '--name', 'lost'])
  await makeFirstCommit(story.server, project.project_id)
}, 180_000)
afterAll(() => story?.end(), 120_000)

const go = (path: string) => story.page.goto(`${story.server.url}/projects/${project.slug}/${path}`)
const ofProject = <T>(path: string) => story.server.json<T>(['api', `/v1/projects/${project.project_id}/${path}`])

/** The first answers to POST requests of this address do not arrive. */
async function loseAnswers(address: RegExp, count: number): Promise<() => number> {
  let lost = 0
  await story.page.unrouteAll()
  await story.page.route(address, async (route) => {
    if (route.request().method() !== 'POST' || lost === count) return route.continue()
    lost += 1
    await route.fetch()
    return route.abort('connectionreset')
  })
  return () => lost
}

interface ChangeRequest {
  cr_id: string
}
interface Review {
  body: string
  comments: { text: string; replies: { text: string }[] }[]
}

const changeRequests = async () =>
  (await ofProject<{ change_requests: ChangeRequest[] }>('change-requests')).change_requests

async function reviews() {
  const [cr] = await changeRequests()
  const answer = await ofProject<{ reviews: Review[] }>(`change-requests/${cr!.cr_id}/reviews`)
  return answer.reviews.map(({ body, comments }) => ({
    body,
    comments: comments.map(({ text, replies }) => [text, ...replies.map((reply) => reply.text)]),
  }))
}

test.skipIf(!browserPath)(
  'a second press after lost answers opens no second change request',
  async () => {
    const { page, complaints } = story
    const lost = await loseAnswers(/\/file$/, attempts)
    await go('files?path=a.txt&view=edit')
    await page.getByRole('textbox', { name: /^Content of/ }).fill('edited\n', slow)
    await page.getByRole('button', { name: 'Propose change' }).click()
    await page.getByText("Can't reach the service.").waitFor(slow)
    expect(lost()).toBe(attempts)
    expect(await page.getByRole('textbox', { name: /^Content of/ }).inputValue()).toBe('edited\n')
    await page.getByRole('button', { name: 'Propose change' }).click()
    await page.waitForURL('**/change-requests/1', slow)
    await page.getByText('edited', { exact: true }).first().waitFor(slow)
    expect((await changeRequests()).length).toBe(1)
    expect(complaints).toEqual([])
  },
  180_000,
)

test.skipIf(!browserPath)(
  'a review and a reply whose answers are lost are there once, also after a second press',
  async () => {
    const { page, complaints } = story
    await go('change-requests/1?tab=files')
    await page.getByText('edited', { exact: true }).first().waitFor(slow)
    const summary = page.getByLabel(/Summary/)
    const isSent = () => until('the review to be sent', async () => (await summary.inputValue()) === '')
    await page
      .getByRole('navigation', { name: 'Changed files' })
      .getByRole('button', { name: /a\.txt/ })
      .click()
    await page.keyboard.press('c')
    await page.getByLabel(/^Comment on line/).fill('one comment')
    await page.keyboard.press('Control+Enter')
    await page.getByText('Your review: 1 comment').waitFor(slow)
    await summary.fill('First review')
    await loseAnswers(/\/reviews$/, attempts)
    await page.getByRole('button', { name: 'Save review' }).click()
    await page.getByText("Can't reach the service.").waitFor(slow)
    // The service has taken the comment.
    await page.getByText('Your review: 0 comments').waitFor(slow)
    await page.getByRole('button', { name: 'Save review' }).click()
    await isSent()
    expect(await reviews()).toEqual([{ body: 'First review', comments: [['one comment']] }])

    const lost = await loseAnswers(/\/reviews$/, 1)
    await summary.fill('Second review')
    await page.getByRole('button', { name: 'Save review' }).click()
    await isSent()
    expect([lost(), (await reviews()).map(({ body }) => body).toSorted()]).toEqual([
      1,
      ['First review', 'Second review'],
    ])

    await loseAnswers(/\/replies$/, attempts)
    const thread = page.getByRole('article', { name: /^Comment by/ }).first()
    await thread.getByRole('button', { name: 'Reply' }).click()
    await thread.getByLabel('Reply').fill('my reply')
    await thread.getByRole('button', { name: 'Reply' }).click()
    await thread.getByText("Can't reach the service.").waitFor(slow)
    await thread.getByRole('button', { name: 'Reply' }).click()
    await thread.getByLabel('Reply').waitFor({ ...slow, state: 'detached' })
    expect((await reviews()).flatMap(({ comments }) => comments)).toEqual([['one comment', 'my reply']])

    // The same words once more, after an answer, are another reply.
    await thread.getByRole('button', { name: 'Reply' }).click()
    await thread.getByLabel('Reply').fill('my reply')
    await thread.getByRole('button', { name: 'Reply' }).click()
    await thread.getByLabel('Reply').waitFor({ ...slow, state: 'detached' })
    expect((await reviews()).flatMap(({ comments }) => comments)).toEqual([['one comment', 'my reply', 'my reply']])
    expect(complaints).toEqual([])
  },
  180_000,
)

test.skipIf(!browserPath)(
  'what a message of the service has between backticks is code',
  async () => {
    const { page } = story
    await page.unrouteAll()
    await page.route(/\/reviews$/, (route) =>
      route.request().method() === 'POST'
        ? route.fulfill({
            status: 400,
            json: { error: 'Not stored.', code: 'invalid', hint: 'Run `svc doctor` first.' },
          })
        : route.continue(),
    )
    await go('change-requests/1?tab=files')
    await page.getByLabel(/Summary/).fill('Third review', slow)
    await page.getByRole('button', { name: 'Save review' }).click()
    const notice = page.getByRole('alert').filter({ hasText: 'Run svc doctor first.' })
    await notice.locator('code').getByText('svc doctor', { exact: true }).waitFor(slow)
    await page.unrouteAll()
  },
  180_000,
)
