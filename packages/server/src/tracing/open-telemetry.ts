/**
 * Traces by the official SDK of OpenTelemetry. Only a server with a collector loads this file. It registers nothing
 * globally, and keeps the current span itself.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import {
  type Context,
  ROOT_CONTEXT,
  type Span as OtelSpan,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  trace,
  type Tracer,
} from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import {
  defaultResource,
  detectResources,
  resourceAttributesEnvDetector,
  resourceFromAttributes,
  serviceNameEnvDetector,
} from '@opentelemetry/resources'
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import { ServiceError } from '@svc/contract'
import { GitError, type GitObserver } from '@svc/git'
import type { TracingConfig } from '../config/tracing.ts'
import { withDeadline } from '../deadline.ts'
import { version } from '../version.ts'
import { type Report, WatchedExporter } from './watched-exporter.ts'
import type { Span, SpanOptions, Tracing } from './tracing.ts'

/** The end of the server has ten seconds for everything, and the collector may hang. */
const flushMsMax = 1_500
/** A run of a job that takes this long has a trace even if nothing in it has a span. */
const longMs = 1_000

/** A request shows up while its operator still looks for it. A batch of many spans is sent at once. */
const batchMs = 1_000

/** What spans are made below: a span that exists, or one of a job that exists once something is below it. */
interface Above {
  context(): Context
}

export class OpenTelemetry implements Tracing {
  readonly #provider: TracerProvider
  readonly #tracer: Tracer
  readonly #above = new AsyncLocalStorage<Above | null>()

  /** `report` tells the operator when the collector stops taking spans, and when it takes them again. */
  constructor(config: TracingConfig, { serverName, report }: { serverName: string | null; report: Report }) {
    const detected = detectResources({ detectors: [resourceAttributesEnvDetector, serviceNameEnvDetector] })
    this.#provider = new TracerProvider({
      sampler: samplerOf(config),
      resource: defaultResource()
        .merge(
          resourceFromAttributes({
            'service.name': 'svc',
            'service.version': version,
            ...(serverName === null ? {} : { 'service.instance.id': serverName }),
          }),
        )
        .merge(detected),
      spanProcessors: [
        new BatchSpanProcessor({
          exporter: new WatchedExporter(new OTLPTraceExporter({ url: config.url }), report),
          scheduledDelayMillis: batchMs,
        }),
      ],
    })
    this.#tracer = this.#provider.getTracer('svc', version)
  }

  span<T>(name: string, options: SpanOptions, act: (span: Span) => Promise<T>): Promise<T> {
    const span = this.#start(name, options)
    const context = trace.setSpan(ROOT_CONTEXT, span.otel)
    return this.#above.run({ context: () => context }, () => endAfter(span, () => act(span)))
  }

  begin(name: string, options: SpanOptions): Span {
    return this.#start(name, options)
  }

  job<T>(name: string, run: () => Promise<T>): Promise<T> {
    const startTime = Date.now()
    let endTime: number | null = null
    let span: OtelSpan | null = null
    const begun = () => {
      if (span === null) {
        const attributes = { 'svc.job': name }
        span = this.#tracer.startSpan(`job ${name}`, { root: true, startTime, attributes }, ROOT_CONTEXT)
        // Something that the run left behind.
        if (endTime !== null) span.end(endTime)
      }
      return span
    }
    const ended = (error?: unknown) => {
      const now = Date.now()
      if (error !== undefined) new OpenSpan(begun()).fail(typeOf(error))
      else if (now - startTime >= longMs) begun()
      endTime = now
      span?.end(endTime)
    }
    return this.#above.run({ context: () => trace.setSpan(ROOT_CONTEXT, begun()) }, async () => {
      try {
        const value = await run()
        ended()
        return value
      } catch (error) {
        ended(error)
        throw error
      }
    })
  }

  apart<T>(act: () => T): T {
    return this.#above.run(null, act)
  }

  traceparent(): string | null {
    const above = this.#above.getStore()
    const of = above ? trace.getSpanContext(above.context()) : undefined
    return of === undefined ? null : `00-${of.traceId}-${of.spanId}-${of.traceFlags.toString(16).padStart(2, '0')}`
  }

  ids(): { trace_id?: string } {
    const above = this.#above.getStore()
    const of = above ? trace.getSpanContext(above.context()) : undefined
    return of === undefined ? {} : { trace_id: of.traceId }
  }

  /** The work of git that a request, a job or a turn causes. Anything else would be a trace of one process each. */
  readonly git: GitObserver = {
    process: ({ command, lane, isPooled }) => {
      if (!this.#above.getStore()) return null
      const attributes = { 'svc.git.lane': lane, ...(isPooled ? { 'svc.git.pooled': true } : {}) }
      const span = this.#start(`git ${command}`, { attributes })
      const asked = performance.now()
      return {
        started: () => span.set({ 'svc.git.wait_ms': Math.round(performance.now() - asked) }),
        ended({ failure, code }) {
          if (code !== null) span.set({ 'process.exit.code': code })
          if (failure !== null) span.fail(failure)
          span.end()
        },
      }
    },
    work: (name, act) => (this.#above.getStore() ? this.span(name, {}, act) : act()),
  }

  /** Sends what has ended, if the collector takes it in time. */
  async close(): Promise<void> {
    await withDeadline(this.#provider.shutdown().catch(reportedByExporter), flushMsMax, () => null)
  }

  #start(name: string, { kind, parent, attributes = {} }: SpanOptions): OpenSpan {
    const above = this.#above.getStore()?.context()
    const below = contextOf(parent) ?? above ?? ROOT_CONTEXT
    // Requests on one connection have nothing to do with each other.
    const isLinked = parent !== undefined && above !== undefined && kind !== 'server'
    const linked = isLinked ? trace.getSpanContext(above) : undefined
    const span = this.#tracer.startSpan(
      name,
      {
        kind: kind === undefined ? SpanKind.INTERNAL : kind === 'server' ? SpanKind.SERVER : SpanKind.CLIENT,
        attributes: { ...attributes },
        ...(linked === undefined ? {} : { links: [{ context: linked }] }),
      },
      below,
    )
    return new OpenSpan(span)
  }
}

class OpenSpan implements Span {
  readonly otel: OtelSpan

  constructor(otel: OtelSpan) {
    this.otel = otel
  }

  rename(name: string): void {
    this.otel.updateName(name)
  }

  set(attributes: NonNullable<SpanOptions['attributes']>): void {
    this.otel.setAttributes({ ...attributes })
  }

  fail(type: string): void {
    this.otel.setStatus({ code: SpanStatusCode.ERROR })
    this.otel.setAttribute('error.type', type)
  }

  end(): void {
    if (this.otel.isRecording()) this.otel.end()
  }
}

async function endAfter<T>(span: Span, act: () => Promise<T>): Promise<T> {
  try {
    return await act()
  } catch (error) {
    span.fail(typeOf(error))
    throw error
  } finally {
    span.end()
  }
}

/** Undefined: below the current span. */
function contextOf(parent: SpanOptions['parent']): Context | undefined {
  if (parent === undefined) return undefined
  if (parent === 'none') return ROOT_CONTEXT
  if (typeof parent === 'string') {
    const remote = readTraceparent(parent)
    return remote === null ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, remote)
  }
  return parent instanceof OpenSpan ? trace.setSpan(ROOT_CONTEXT, parent.otel) : undefined
}

function readTraceparent(text: string): SpanContext | null {
  const [, traceId, spanId, flags] = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/.exec(text) ?? []
  if (traceId === undefined || spanId === undefined || flags === undefined) return null
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & 1, isRemote: true }
}

function samplerOf({ sampler, ratio }: TracingConfig): Sampler {
  const root: Sampler = sampler.endsWith('always_on')
    ? new AlwaysOnSampler()
    : sampler.endsWith('always_off')
      ? new AlwaysOffSampler()
      : new TraceIdRatioBasedSampler(ratio)
  return sampler.startsWith('parentbased_') ? new ParentBasedSampler({ root }) : root
}

/** A code or the name of a class, never a message. */
function typeOf(error: unknown): string {
  if (error instanceof ServiceError) return error.code
  if (error instanceof GitError) return error.failure
  return error instanceof Error ? error.constructor.name : 'Error'
}

/** The exporter has reported it. */
function reportedByExporter(): void {}
