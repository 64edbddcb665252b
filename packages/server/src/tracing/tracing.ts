/**
 * Spans for an OpenTelemetry collector: requests, and the work that they and the jobs cause. Off unless a collector is
 * configured; open-telemetry.ts implements it then.
 */

/**
 * Everything a span may have. The list is closed, so that no path, branch, prompt, header or query gets into one: a
 * value is an id of the service, a number, or a word from the source code or the configuration.
 */
export interface SpanAttributes {
  'http.request.method'?: string
  'http.route'?: string
  'http.response.status_code'?: number
  'gen_ai.operation.name'?: 'chat' | 'invoke_agent'
  'gen_ai.provider.name'?: string
  /** Only a name that an operator configured: an agent may send any text. */
  'gen_ai.request.model'?: string
  'process.exit.code'?: number
  'svc.request_id'?: string
  'svc.project_id'?: string
  'svc.session_id'?: string
  'svc.change_request_id'?: string
  'svc.git.lane'?: string
  'svc.git.pooled'?: boolean
  'svc.git.wait_ms'?: number
  'svc.job'?: string
  /** The name of another server. */
  'svc.peer'?: string
  'svc.sandbox_driver'?: string
  'svc.turn.outcome'?: 'completed' | 'failed' | 'aborted' | 'left'
}

export interface SpanOptions {
  /** `server`: answers a request; `client`: sends one. */
  kind?: 'server' | 'client'
  /**
   * By default the current span. `none` begins a trace. A text is the `traceparent` of another server. A span with
   * another parent than the current span has a link to that, unless it answers a request.
   */
  parent?: 'none' | Span | string
  attributes?: SpanAttributes
}

export interface Span {
  rename(name: string): void
  set(attributes: SpanAttributes): void
  /** `type` is a code. The message of an error may hold anything, so no span has it. */
  fail(type: string): void
  /** Once: what comes later is ignored. */
  end(): void
}

export interface Tracing {
  /** Runs `act` in a new span, which fails when it throws. */
  span<T>(name: string, options: SpanOptions, act: (span: Span) => Promise<T>): Promise<T>
  /** A span that its caller ends. It is the parent only of those that name it. */
  begin(name: string, options: SpanOptions): Span
  /** Begins a trace if the run does something that has a span, fails, or takes a second: most runs find nothing to do. */
  job<T>(name: string, run: () => Promise<T>): Promise<T>
  /** Runs what outlives the current request or job outside of its trace. */
  apart<T>(act: () => T): T
  /** The current span for another server, in the format of W3C. */
  traceparent(): string | null
  /** For lines of the log. */
  ids(): { trace_id?: string }
}

const noSpan: Span = { rename() {}, set() {}, fail() {}, end() {} }

export const noTracing: Tracing = {
  span: (_name, _options, act) => act(noSpan),
  begin: () => noSpan,
  job: (_name, run) => run(),
  apart: (act) => act(),
  traceparent: () => null,
  ids: () => ({}),
}
