/**
 * The first script of the document, so small that it runs while the page's own code is still read. What a change request shows
 * is asked for here, one question after the other; begun.ts hands the answers to the page, and the names of the files that draw
 * it stand in the document. Nothing waits for this: what fails here the page asks for again, and says so. It imports nothing,
 * because it would have to wait for what it shared with the page.
 */
import type { Answer, Begun } from './begun.ts'

const address = /^\/projects\/([^/]+)\/change-requests\/(\d+)$/.exec(location.pathname)
if (address !== null) {
  const [, encoded = '', number = ''] = address
  const search = new URLSearchParams(location.search)
  const [tab, since] = [search.get('tab'), search.get('since')]
  window.begun = begin(encoded, Number(number), { tab, since })
  preload('detail')
  preload(tab ?? 'conversation')
}

function begin(encoded: string, number: number, { tab, since }: { tab: string | null; since: string | null }): Begun {
  const projects = ask('/v1/projects?limit=1000')
  const change = after(projects, (all: { slug: string; project_id: string }[]) => {
    const name = decodeURIComponent(encoded)
    const found = all.find(({ slug, project_id }) => slug === name || project_id === name)
    return found && `/v1/projects/${found.project_id}/change-requests?number=${number}`
  })
  const diff = after(change, (found: { change_requests: { cr_id: string; project_id: string }[] }) => {
    const cr = found.change_requests[0]
    if (cr === undefined || tab !== 'files') return undefined
    return `/v1/projects/${cr.project_id}/change-requests/${cr.cr_id}/diff?${diffQuery(since)}`
  })
  return { encoded, number, tab, since, answers: { me: ask('/v1/accounts/me'), projects, change, diff } }
}

/** As queries.ts asks. Whether whitespace is ignored is kept by files/whitespace.ts. */
function diffQuery(since: string | null): string {
  const query = new URLSearchParams({ renames: '1' })
  if (since !== null) query.set('since', since)
  if (localStorage.getItem('svc-diff-ignore-whitespace') === 'true') query.set('ignore_whitespace', '1')
  return query.toString()
}

function ask(path: string): Answer {
  const url = new URL(path, location.origin).href
  return fetch(url).then(
    (response) => ({ url, response }),
    () => null,
  )
}

/** The question that follows from an answer, which stays whole for the page. */
async function after<T>(before: Answer, next: (answer: T) => string | undefined): Answer {
  try {
    const begun = await before
    if (!begun?.response.ok) return null
    const path = next((await begun.response.clone().json()) as T)
    return path === undefined ? null : await ask(path)
  } catch {
    return null
  }
}

/** vite.config.ts writes them there. */
function preload(part: string): void {
  const own = document.querySelector<HTMLScriptElement>('script[data-detail]')
  for (const file of own?.dataset[part]?.split(' ') ?? []) {
    const link = document.createElement('link')
    Object.assign(link, { rel: 'modulepreload', crossOrigin: '', href: file })
    document.head.append(link)
  }
}
