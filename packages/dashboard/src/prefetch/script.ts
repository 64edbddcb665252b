/**
 * The first script of the document. It is small, so it runs while the browser still loads the page's code. On the address of a
 * change request it sends the page's first requests and preloads the files that render the page. It ignores failures: the page
 * then sends the request again and shows the error. docs/operate/bench.md has the time that it saves before the first paint.
 */
import { readStored } from '../browser/storage.ts'
import { ignoreWhitespace } from '../pages/change-requests/diff/whitespace.ts'
import { findProject } from '../pages/projects/find-project.ts'
import { type DiffOptions, diffType, type GetPath, type Params, type Reply, requests } from './requests.ts'

interface Found<T> {
  params: string
  data: T
}
type Answer<P extends GetPath> = Promise<Found<Reply<P>> | null>

export interface Address {
  /** A slug or an id. */
  project: string
  number: number
  tab: string | null
  since: string | null
  to: string | null
}

/** The change request in the address; null on any other page. */
export const address = changeRequestIn(location)
/** The diff arrives in lines, which the page reads as they come. */
let diffAnswer: Promise<Found<Response> | null> = Promise.resolve(null)
const answers = new Map<GetPath, Promise<Found<unknown> | null>>()

if (address !== null) {
  prefetch(address)
  preload('detail')
  preload(address.tab ?? 'files')
}

/** The answer to exactly this request, once; null when there is none. */
export async function takePrefetched<P extends GetPath>(path: P, params: Params<P>): Promise<Reply<P> | null> {
  const answer = answers.get(path) as Answer<P> | undefined
  if (answer === undefined) return null
  const found = await answer
  if (found?.params !== JSON.stringify(params) || answers.get(path) !== answer) return null
  answers.delete(path)
  return found.data
}

/** The same for the diff. */
export async function takePrefetchedDiff(params: object | null): Promise<Response | null> {
  const answer = diffAnswer
  diffAnswer = Promise.resolve(null)
  const found = await answer
  if (found === null || found.params === JSON.stringify(params)) return found?.data ?? null
  await found.data.body?.cancel()
  return null
}

/** A later request must not get an old answer. */
export function dropPrefetched(): void {
  answers.clear()
  void takePrefetchedDiff(null)
}

function changeRequestIn({ pathname, search }: Location): Address | null {
  const [, encoded, number] = /^\/projects\/([^/]+)\/change-requests\/(\d+)$/.exec(pathname) ?? []
  const project = encoded === undefined ? null : decoded(encoded)
  if (project === null) return null
  const query = new URLSearchParams(search)
  return { project, number: Number(number), tab: query.get('tab'), since: query.get('since'), to: query.get('to') }
}

function decoded(encoded: string): string | null {
  try {
    return decodeURIComponent(encoded)
  } catch {
    return malformedAddress()
  }
}

/** The page itself reports an address that cannot be decoded. */
function malformedAddress(): null {
  return null
}

function prefetch({ project: name, number, tab, since, to }: Address): void {
  keep('/v1/accounts/me', send(requests.me()))
  const projects = keep('/v1/projects', send(requests.projects()))
  const changeRequests = keep(
    '/v1/projects/{projectId}/change-requests',
    sendAfter(projects, (all) => {
      const project = findProject(all, name)
      return project && requests.changeRequest(project.project_id, number)
    }),
  )
  if (tab !== null && tab !== 'files') return
  const options = { since, to, ignoreWhitespace: readStored(...ignoreWhitespace) }
  diffAnswer = sendDiff(changeRequests, options)
}

/** Before its request is sent, so that the page waits for an answer that depends on another one. */
function keep<P extends GetPath>(path: P, answer: Answer<P>): Answer<P> {
  answers.set(path, answer)
  return answer
}

type Request<P extends GetPath> = readonly [path: P, params: Params<P>]

async function sendAfter<P extends GetPath, Q extends GetPath>(
  before: Answer<P>,
  next: (reply: Reply<P>) => Request<Q> | undefined,
): Answer<Q> {
  const found = await before
  const request = found === null ? undefined : next(found.data)
  return request === undefined ? null : send(request)
}

async function sendDiff(
  before: Answer<'/v1/projects/{projectId}/change-requests'>,
  options: DiffOptions,
): Promise<Found<Response> | null> {
  const cr = (await before)?.data.change_requests[0]
  return cr === undefined
    ? null
    : sendFor(requests.diff(cr.project_id, cr.cr_id, options), { accept: diffType }, (response) => response)
}

function send<P extends GetPath>(request: Request<P>): Answer<P> {
  return sendFor(request, {}, async (response) => (await response.json()) as Reply<P>)
}

async function sendFor<P extends GetPath, T>(
  [path, params]: Request<P>,
  headers: Record<string, string>,
  read: (response: Response) => T | Promise<T>,
): Promise<Found<T> | null> {
  try {
    const response = await fetch(urlOf(path, params), { headers })
    return response.ok ? { params: JSON.stringify(params), data: await read(response) } : null
  } catch {
    return repeatedByThePage()
  }
}

/** The page sends a request without an answer itself, and shows its error. */
function repeatedByThePage(): null {
  return null
}

function urlOf(path: string, params: { path?: object; query?: object }): string {
  const values = { ...params.path } as Record<string, string>
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(values[name]!))
  const query = Object.entries(params.query ?? {}).filter(([, value]) => value != null)
  return `${filled}?${new URLSearchParams(query.map(([name, value]) => [name, String(value)])).toString()}`
}

/** vite.config.ts lists the files of each part in attributes of this script's element. */
function preload(part: string): void {
  const own = document.querySelector<HTMLScriptElement>('script[data-detail]')
  for (const file of own?.dataset[part]?.split(' ') ?? []) {
    const link = document.createElement('link')
    Object.assign(link, { rel: 'modulepreload', crossOrigin: '', href: file })
    document.head.append(link)
  }
}
