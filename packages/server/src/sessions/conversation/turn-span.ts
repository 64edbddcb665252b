import type { Deps } from '../../deps.ts'
import type { Span, SpanAttributes } from '../../tracing/tracing.ts'
import { abortedCode, type TurnFailure } from './assemble.ts'

/** The span of the turn that runs. A turn outlives the request of its prompt, so it has a trace of its own. */
export class TurnSpan {
  /** Null between turns. */
  current: Span | null = null
  readonly #tracing: Deps['tracing']
  readonly #attributes: SpanAttributes

  constructor({ tracing }: Pick<Deps, 'tracing'>, session: { project_id: string; session_id: string }) {
    this.#tracing = tracing
    this.#attributes = {
      'gen_ai.operation.name': 'invoke_agent',
      'svc.project_id': session.project_id,
      'svc.session_id': session.session_id,
    }
  }

  begin(): void {
    this.current = this.#tracing.begin('turn', { parent: 'none', attributes: this.#attributes })
  }

  /** `left`: the turn goes on without this server, or its end was not seen. */
  end(failure: TurnFailure | 'left' | null): void {
    const span = this.current
    this.current = null
    if (span === null) return
    if (failure === null || failure === 'left') span.set({ 'svc.turn.outcome': failure ?? 'completed' })
    else if (failure.code === abortedCode) span.set({ 'svc.turn.outcome': 'aborted' })
    else {
      span.set({ 'svc.turn.outcome': 'failed' })
      // Its code may be the word of a program in the sandbox.
      span.fail('turn_failed')
    }
    span.end()
  }
}
