/** The client's use of the SDK: its requests stop with the terminal, and its failures say what to do next. */
import * as sdk from '@svc/sdk'
import { version } from './config/build-values.ts'
import { Refusal } from './errors.ts'
import type { Io } from './io.ts'
import type { Client, ProjectClient, Sent } from './requests.ts'

export function connect(
  io: Pick<Io, 'signal' | 'sleep' | 'newId'>,
  host: { name: string; base: string },
  token: string | null,
  notice?: sdk.SlowNotice,
): Client {
  const api = sdk.createSvcClient({
    baseUrl: host.base,
    token,
    userAgent: `svc/${version}`,
    signal: io.signal,
    sleep: (ms) => io.sleep(ms),
    ...(notice === undefined ? {} : { notice }),
  })
  const below = <T>(prefix: string, known: object, more: object) =>
    ({ ...requests(api, io, prefix, known), ...more }) as unknown as T
  const client = below<Client>(
    '',
    {},
    {
      route: (method: string, path: string, options: Options = {}) =>
        sdk.callRoute(api, method, path, withHeaders(io, options)).catch(rethrowGuided),
      project(projectId: string) {
        const prefix = '/v1/projects/{projectId}'
        const project = below<ProjectClient>(
          prefix,
          { projectId },
          {
            id: projectId,
            api: client,
            session: (sessionId: string) =>
              below(`${prefix}/sessions/{sessionId}`, { projectId, sessionId }, { id: sessionId, project }),
            changeRequest: (crId: string) => below(`${prefix}/change-requests/{crId}`, { projectId, crId }, {}),
          },
        )
        return project
      },
    },
  )
  return client
}

type Options = Sent & { path?: object; query?: object; body?: object }

/** The functions behind a client; `requests.ts` has their types. */
function requests(api: sdk.SvcClient, io: Pick<Io, 'newId'>, prefix: string, known: object) {
  const request = api.request as unknown as (method: string, path: string, init: object) => Promise<sdk.Answer<object>>
  const by =
    <T>(method: string, take: (answer: Promise<sdk.Answer<object>>) => Promise<T>, how: object = {}) =>
    (path: string, { path: named, query, ...rest }: Options = {}) => {
      const params = { path: { ...known, ...named }, query }
      return take(request(method, prefix + path, { params, ...withHeaders(io, rest), ...how })).catch(rethrowGuided)
    }
  const { reply, replyPage, replyStream, replyWarned } = sdk
  return {
    get: by('get', reply),
    post: by('post', reply),
    put: by('put', reply),
    patch: by('patch', reply),
    delete: by('delete', reply),
    page: by('get', replyPage),
    stream: by('get', replyStream, { parseAs: 'stream' }),
    warned: { post: by('post', replyWarned), patch: by('patch', replyWarned) },
  }
}

function withHeaders({ newId }: Pick<Io, 'newId'>, { once, headers, ...rest }: Options) {
  return { ...rest, headers: { ...headers, ...(once ? sdk.onlyOnce(newId) : {}) } }
}

function rethrowGuided(error: unknown): never {
  throw guided(error)
}

/** A failure of the connection with its next step; every other error as it is. */
function guided(error: unknown): Error {
  if (!(error instanceof sdk.TransportError)) return error as Error
  const { failure, message, address, location, cause } = error
  switch (failure) {
    case 'timed_out':
      return new Refusal('timed_out', message, { cause })
    case 'redirected':
      return new Refusal('bad_answer', message, {
        hint: `It points to ${location}. Add that address as the host if it is right.`,
        next: ['svc hosts add <name> --url <url>'],
      })
    case 'bad_answer':
      if (cause !== undefined)
        return new Refusal('bad_answer', message, { hint: 'Is this address a svc server?', cause })
      return new Refusal('bad_answer', message, { next: ['svc hosts ls'] })
    case 'unreachable':
      return unreachable(message, address, cause)
    default:
      return failure satisfies never
  }
}

function unreachable(message: string, address: string, cause: unknown): Refusal {
  const isLocal = /^https?:\/\/(127\.|localhost|\[::1\])/.test(address)
  const code = String((cause as { code?: unknown }).code ?? '')
  return new Refusal('unreachable', message, {
    hint: isLocal
      ? 'Is the server running? Start it with npm start, or svc server.'
      : `Check the address and the network. (${code || (cause as Error).message})`,
    next: isLocal ? ['npm start', 'svc server', 'svc hosts ls'] : ['svc hosts ls'],
    cause,
  })
}
