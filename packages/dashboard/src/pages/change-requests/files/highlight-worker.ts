/**
 * A worker that colours. The viewer draws nothing before its workers say that they are ready, though it draws first without
 * colours: so it is told at once, and what it asks for meanwhile waits here until that is true.
 */
import PoolWorker from '@pierre/diffs/worker/worker.js?worker'

interface Request {
  id: string
  type: string
}

/** Undefined while the worker begins. */
type Begun = { failed: string | null } | undefined

export function highlightWorker(): Worker {
  const worker = new PoolWorker()
  const waiting: Request[] = []
  let begun: Begun
  let beginning: string | undefined
  const post = worker.postMessage.bind(worker)
  const reply = (answer: object) => worker.dispatchEvent(new MessageEvent('message', { data: answer }))
  const pass = (request: Request) => {
    if (begun === undefined) waiting.push(request)
    else if (begun.failed === null) post(request)
    // Its lines stay without colours.
    else reply({ type: 'error', id: request.id, error: begun.failed })
  }
  const beginsWith = (failed: string | null) => {
    begun = { failed }
    for (const request of waiting.splice(0)) pass(request)
  }
  worker.addEventListener('message', ({ data }: MessageEvent<{ id: string; type: string; error?: string }>) => {
    if (begun === undefined && data.id === beginning && data !== told)
      beginsWith(data.type === 'error' ? (data.error ?? 'It did not begin.') : null)
  })
  worker.addEventListener('error', ({ message }) => begun === undefined && beginsWith(message || 'It did not begin.'))
  let told: object | undefined
  worker.postMessage = (request: Request) => {
    if (request.type !== 'initialize') return pass(request)
    beginning = request.id
    told = { type: 'success', requestType: 'initialize', id: request.id }
    post(request)
    // Whoever asks waits for an answer that comes later.
    queueMicrotask(() => reply(told!))
  }
  return worker
}
