/**
 * A syntax highlighting worker. The viewer renders nothing before its workers report that they are ready, although its first
 * render has no colors. So this wrapper reports it immediately and queues requests until the worker is ready.
 */
import PoolWorker from '@pierre/diffs/worker/worker.js?worker'

interface Request {
  id: string
  type: string
}

/** Undefined while the worker starts. */
type Started = { failed: string | null } | undefined

export function highlightWorker(): Worker {
  const worker = new PoolWorker()
  const waiting: Request[] = []
  let started: Started
  let startId: string | undefined
  const post = worker.postMessage.bind(worker)
  const reply = (answer: object) => worker.dispatchEvent(new MessageEvent('message', { data: answer }))
  const forward = (request: Request) => {
    if (started === undefined) waiting.push(request)
    else if (started.failed === null) post(request)
    // The lines stay without colors.
    else reply({ type: 'error', id: request.id, error: started.failed })
  }
  const finishStart = (failed: string | null) => {
    started = { failed }
    for (const request of waiting.splice(0)) forward(request)
  }
  worker.addEventListener('message', ({ data }: MessageEvent<{ id: string; type: string; error?: string }>) => {
    if (started === undefined && data.id === startId && data !== reported)
      finishStart(data.type === 'error' ? (data.error ?? 'The worker did not start.') : null)
  })
  worker.addEventListener(
    'error',
    ({ message }) => started === undefined && finishStart(message || 'The worker did not start.'),
  )
  let reported: object | undefined
  worker.postMessage = (request: Request) => {
    if (request.type !== 'initialize') return forward(request)
    startId = request.id
    reported = { type: 'success', requestType: 'initialize', id: request.id }
    post(request)
    // The viewer expects an asynchronous answer.
    queueMicrotask(() => reply(reported!))
  }
  return worker
}
