/** Requests that change something, for buttons and forms. */
import type { paths } from '@svc/contract/api'
import { type QueryKey, useMutation, type UseMutationOptions, useQueryClient } from '@tanstack/react-query'
import { api, type Answer, onlyOnce, reply } from '../api.ts'
import { restart } from './invalidate.ts'

type Method = 'POST' | 'PUT' | 'PATCH' | 'DELETE'
type Operation<M extends Method, P extends keyof paths> = paths[P][Lowercase<M>]
type Route<M extends Method> = {
  [P in keyof paths]: Operation<M, P> extends { responses: object } ? P : never
}[keyof paths]

type Json<T> = T extends { content: { 'application/json': infer Content } } ? Content : undefined
type Result<T> = T extends { responses: infer All } ? Json<All[keyof All & (200 | 201 | 202)]> : never
type Path<T> = T extends { parameters: { path: infer Path extends object } } ? Path : object
type Body<T> = T extends { requestBody: infer Required }
  ? Json<Required>
  : T extends { requestBody?: infer Optional }
    ? Json<NonNullable<Optional>> | void
    : void

type Request<T> = { path: Path<T> } & (void extends Body<T> ? { body?: Exclude<Body<T>, void> } : { body: Body<T> })

interface Options<T, Given> extends Pick<UseMutationOptions<T, Error, Given>, 'onSuccess' | 'retry' | 'retryDelay'> {
  /** The service runs each attempt of the user once, however often the request is sent. */
  once?: boolean
  /**
   * The keys below which everything is refetched. A success waits for the new answers, so that the page changes once. An error
   * shows at once, because the answers may take long.
   */
  refetch?: QueryKey[]
}

/** `request` is the path's parameters, and `mutate` takes the body. Or it makes the request from what `mutate` takes. */
export function useSend<M extends Method, P extends Route<M>, Given = Body<Operation<M, P>>>(
  method: M,
  route: P,
  request: Path<Operation<M, P>> | ((given: Given) => Request<Operation<M, P>> | Promise<Request<Operation<M, P>>>),
  { once = false, refetch = [], ...options }: Options<Result<Operation<M, P>>, Given> = {},
) {
  const queries = useQueryClient()
  return useMutation<Result<Operation<M, P>>, Error, Given>({
    ...options,
    mutationFn: async (given) => {
      const { path, body } = typeof request === 'function' ? await request(given) : { path: request, body: given }
      const header = once ? onlyOnce() : {}
      // The client's own types cannot follow a method and a route that are parameters.
      const send = api[method] as (route: P, init: object) => Promise<Answer<Result<Operation<M, P>>>>
      return reply(send(route, { params: { path, header }, ...(body === undefined ? {} : { body }) }))
    },
    onSettled: (_reply, error) => {
      const refetched = Promise.all(refetch.map((queryKey) => restart(queries, queryKey)))
      return error === null ? refetched : undefined
    },
  })
}
