/** Gives every log line that a request causes the ids of the request. */
import { AsyncLocalStorage } from 'node:async_hooks'

interface RequestFacts {
  request_id: string
  session_id?: string
  cr_id?: string
}

const current = new AsyncLocalStorage<RequestFacts>()

/** The ids in a path of the API, for the span of its request. */
export function idsInPath(path: string) {
  return { project: ofProject.exec(path)?.[1], session: ofSession.exec(path)?.[1], cr: ofChangeRequest.exec(path)?.[1] }
}

const aUuid = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}'
const ofProject = new RegExp(`/projects/(${aUuid})(?:/|$)`, 'i')
const ofSession = new RegExp(`/sessions/(${aUuid})(?:/|$)`, 'i')
const ofChangeRequest = new RegExp(`/change-requests/(${aUuid})(?:/|$)`, 'i')

/** Also what the request leaves to run after its answer has its facts. */
export function duringRequest<T>({ id, path }: { id: string; path: string }, act: () => T): T {
  const session_id = ofSession.exec(path)?.[1]
  const cr_id = ofChangeRequest.exec(path)?.[1]
  return current.run(
    { request_id: id, ...(session_id === undefined ? {} : { session_id }), ...(cr_id === undefined ? {} : { cr_id }) },
    act,
  )
}

/** Empty outside of requests, as in jobs. */
export function requestFacts(): Partial<RequestFacts> {
  return current.getStore() ?? {}
}
