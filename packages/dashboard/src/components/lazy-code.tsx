/** Code that loads when it is first shown. */
import { type AsyncRouteComponent, lazyRouteComponent, useRouter } from '@tanstack/react-router'
import { unreachable } from '../api.ts'
import { Failure } from './requests.tsx'

const probeMs = 5_000
/** Loads again what could not be loaded. */
const retries = new Set<() => unknown>()

type Preloadable = Pick<AsyncRouteComponent<unknown>, 'preload'>

/**
 * A component whose code loads when it is first shown. The router reloads the page once when the code is gone, because the
 * server has a new version then. Without an answer of the server a reload would lose the page, so it shows an error instead.
 */
export function lazy<M extends Record<string, unknown>, Name extends keyof M & string>(
  load: () => Promise<M>,
  name: Name,
): M[Name] & Preloadable {
  const loadOrRefuse = async () => {
    try {
      return await load()
    } catch {
      if (await isServing()) return load()
      retries.add(retry)
      throw unreachable('Check your connection, then try again.')
    }
  }
  const component: Preloadable = lazyRouteComponent(loadOrRefuse as never, name)
  const retry = () => component.preload?.()
  return component as Preloadable & M[Name]
}

function retryCode(): void {
  for (const retry of retries) retry()
  retries.clear()
}
addEventListener('online', retryCode)

const isServing = () =>
  fetch('/v1/ready', { signal: AbortSignal.timeout(probeMs) }).then(
    ({ ok }) => ok,
    () => false,
  )

/** In place of a page or a part of it that failed. */
export function PageFailure({ error, reset }: { error: unknown; reset?: () => void }) {
  const router = useRouter()
  const retry = () => {
    retryCode()
    reset?.()
    void router.invalidate()
  }
  return (
    <div className="mx-auto max-w-2xl p-6">
      <Failure error={error} retry={retry} />
    </div>
  )
}
