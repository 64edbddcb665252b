/** Requests of the pages: what they read, what they change, and how both fail. */
import {
  type QueryKey,
  useMutation,
  type UseMutationOptions,
  type UseMutationResult,
  useQuery,
  useQueryClient,
  type UseQueryOptions,
} from '@tanstack/react-query'
import { Link, useLocation } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import type { paths } from '@svc/contract/api'
import { fetchProgressText, readFetchProgress } from '@svc/contract/schemas/fetch-progress'
import { Loading, Notice } from '../ui/layout.tsx'
import { type Answer, api, ApiError, isUnanswered, isUnauthenticated, onlyOnce, reply } from '../api.ts'
import { restart } from '../cache/invalidate.ts'
import { me } from '../pages/account/queries.ts'
import { paths as pages } from '../paths.ts'
import { NoModelFailure } from './no-model.tsx'
import { Button, buttonClass, type ButtonKind, Form } from '../ui/form.tsx'
import { isFetching } from '../cache/query-client.ts'

interface Found<T> {
  isPending: boolean
  isError: boolean
  error: unknown
  data: T | undefined
  refetch: () => unknown
}

interface Shown<T> {
  what: string
  children: (data: T) => ReactNode
}

/** Renders the result of a query, or that it is loading, or its error. */
export function QueryResult<T>({ of, what, children }: Shown<T> & { of: Found<T> }) {
  if (of.isPending) return <Loading what={what} />
  if (of.isError && of.data === undefined) return <Failure error={of.error} retry={() => void of.refetch()} />
  return children(of.data as T)
}

export function Read<Answer, T, Key extends QueryKey>({
  query,
  ...shown
}: Shown<T> & { query: UseQueryOptions<Answer, Error, T, Key> }) {
  return <QueryResult of={useQuery(query)} {...shown} />
}

type Method = 'POST' | 'PUT' | 'PATCH' | 'DELETE'
type Operation<M extends Method, P extends keyof paths> = paths[P][Lowercase<M>]
type Route<M extends Method> = {
  [P in keyof paths]: Operation<M, P> extends { responses: object } ? P : never
}[keyof paths]

type Json<T> = T extends { content: { 'application/json': infer Content } } ? Content : undefined
type Result<T> = T extends { responses: infer All } ? Json<All[keyof All & (200 | 201 | 202)]> : never
type Path<T> = T extends { parameters: { path: infer Path extends object } } ? Path : object
type Query<T> = T extends { parameters: { query?: infer Found } } ? NonNullable<Found> : never
type Body<T> = T extends { requestBody: infer Required }
  ? Json<Required>
  : T extends { requestBody?: infer Optional }
    ? Json<NonNullable<Optional>> | void
    : void

type Request<T> = { path: Path<T>; query?: Query<T> } & (void extends Body<T>
  ? { body?: Exclude<Body<T>, void> }
  : { body: Body<T> })

/** A request of `useSend`, for a component that shows it. */
export type Sending<Given> = Pick<
  UseMutationResult<unknown, Error, Given>,
  'error' | 'isPending' | 'isSuccess' | 'mutate' | 'reset' | 'variables'
>

type Options<T, Given> = Pick<
  UseMutationOptions<Result<T>, Error, Given>,
  'onSuccess' | 'onError' | 'scope' | 'retry' | 'retryDelay'
> & {
  /** The path's parameters. Then `mutate` takes the body. */
  path?: Path<T>
  /** Makes the request from what `mutate` takes. */
  request?: (given: Given) => Request<T> | Promise<Request<T>>
  /**
   * The service runs each attempt of the user once, however often the request is sent. A lost answer is requested again, and
   * so does the user's next try with the same body.
   */
  once?: boolean
  /**
   * The keys below which everything is refetched. A success waits for the new answers, so that the page changes once. An error
   * shows at once, because the answers may take long.
   */
  refetch?: QueryKey[]
} & (object extends Path<T> ? object : { path: Path<T> } | { request: object })

/** A request that changes something, for a button or a form. */
export function useSend<M extends Method, P extends Route<M>, Given = Body<Operation<M, P>>>(
  method: M,
  route: P,
  { path: ownPath, request, once = false, refetch = [], ...options }: Options<Operation<M, P>, Given>,
) {
  const queries = useQueryClient()
  const [keys] = useState(() => new Map<string, ReturnType<typeof onlyOnce>>())
  const sending = useMutation<Result<Operation<M, P>>, Error, Given>({
    ...(once ? { retry: isLost, retryDelay: lostRetryMs } : {}),
    ...options,
    mutationFn: async (given) => {
      const { path, query, body }: { path?: unknown; query?: unknown; body?: unknown } =
        request === undefined ? { path: ownPath, body: given } : await request(given)
      const attempt = once ? JSON.stringify([path, body]) : ''
      const header = once ? keyOf(keys, attempt) : {}
      // The client's own types cannot follow a method and a route that are parameters.
      const send = api[method] as (route: P, init: object) => Promise<Answer<Result<Operation<M, P>>>>
      const answer = await reply(
        send(route, { params: { path, query, header }, ...(body === undefined ? {} : { body }) }),
      )
      keys.delete(attempt)
      return answer
    },
    onSettled: (_reply, error) => {
      const refetched = Promise.all(refetch.map((queryKey) => restart(queries, queryKey)))
      return error === null ? refetched : undefined
    },
  })
  /** The user gave up what failed: the same text is another attempt. */
  return { ...sending, giveUp: () => keys.clear() }
}

const lostRetryMs = 1_000

/** Without an answer, or while the service still runs an attempt whose answer was lost. */
function isLost(count: number, error: Error): boolean {
  return count < 3 && (isUnanswered(error) || (error instanceof ApiError && error.code === 'idempotency_in_progress'))
}

/** Failed attempts of one form. */
const keysMax = 20

/** The key of an attempt until it succeeds. A refusal frees it at the service, so it serves another try of the same. */
function keyOf(keys: Map<string, ReturnType<typeof onlyOnce>>, attempt: string): ReturnType<typeof onlyOnce> {
  const key = keys.get(attempt) ?? onlyOnce()
  keys.set(attempt, key)
  if (keys.size > keysMax) keys.delete(keys.keys().next().value!)
  return key
}

/** A form that sends a request: its fields, why it failed, and its button. */
export function SendForm({
  className,
  of,
  submit,
  kind = 'primary',
  refusal,
  saved,
  extra,
  onSubmit,
  children,
}: {
  className?: string
  of: { isPending: boolean; isSuccess: boolean; error: Error | null }
  submit: string
  kind?: ButtonKind
  /** Why it cannot be sent, or null. */
  refusal: string | null
  /** Appears after a success. */
  saved?: string
  extra?: ReactNode
  onSubmit: () => void
  children: ReactNode
}) {
  return (
    <Form
      {...(className !== undefined && { className })}
      onSubmit={() => refusal === null && !of.isPending && onSubmit()}
    >
      {children}
      <div className="flex flex-wrap items-center gap-3">
        <Button type="submit" kind={kind} busy={of.isPending} disabledReason={refusal}>
          {submit}
        </Button>
        {extra}
      </div>
      {saved !== undefined && (
        <p role="status" className="w-full text-sm text-dim empty:absolute">
          {of.isSuccess ? saved : ''}
        </p>
      )}
      {of.error !== null && <Failure error={of.error} />}
    </Form>
  )
}

/** The user was signed in when this page loaded, and no longer is. */
export function useHasSignInEnded(): boolean {
  const { data, error } = useQuery({ ...me, enabled: false })
  return data !== undefined && isUnauthenticated(error)
}

/** In another tab, so that what is written on the page stays. */
export function SignInAgain() {
  const { href } = useLocation()
  return (
    <Notice
      title="Your sign-in has ended"
      action={
        <Link to={pages.signIn} search={{ next: href }} target="_blank" className={buttonClass()}>
          Sign in
        </Link>
      }
    >
      Sign in again in a new tab, then go on here. What you typed stays.
    </Notice>
  )
}

export function Failure({ error, retry }: { error: unknown; retry?: () => void }) {
  const hasSignInEnded = useHasSignInEnded()
  if (hasSignInEnded && isUnauthenticated(error)) return <SignInAgain />
  if (error instanceof ApiError && isFetching(error))
    return (
      <Notice tone="neutral" title={fetchProgressText(readFetchProgress(error.detail.progress))}>
        This page updates automatically.
      </Notice>
    )
  if (error instanceof ApiError && error.code === 'no_model') return <NoModelFailure error={error} />
  const hint = error instanceof ApiError ? error.hint : null
  return (
    <Notice
      title={error instanceof Error ? error.message : 'Something went wrong on this page. Reload it to try again.'}
      action={retry && <Button onClick={retry}>Try again</Button>}
    >
      {hint}
    </Notice>
  )
}
