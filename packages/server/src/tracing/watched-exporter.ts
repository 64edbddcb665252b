import { AsyncLocalStorage } from 'node:async_hooks'
import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace'

type Result = Parameters<Parameters<SpanExporter['export']>[1]>[0]

export interface Report {
  stopped(reason: string): void
  resumed(): void
}

/** Reports the first batch that the collector does not take, and the first that it takes again, instead of each. */
export class WatchedExporter implements SpanExporter {
  readonly #exporter: SpanExporter
  readonly #report: Report
  /** A batch leaves in the context of the span that ended last, and has nothing to do with it. */
  readonly #outside = AsyncLocalStorage.snapshot()
  #isFailing = false

  constructor(exporter: SpanExporter, report: Report) {
    this.#exporter = exporter
    this.#report = report
  }

  export(spans: ReadableSpan[], done: (result: Result) => void): void {
    this.#outside(() =>
      this.#exporter.export(spans, (result) => {
        this.#note(result)
        done(result)
      }),
    )
  }

  #note({ error }: Result): void {
    const isFailing = error !== undefined
    if (isFailing && !this.#isFailing) this.#report.stopped(error.message)
    if (!isFailing && this.#isFailing) this.#report.resumed()
    this.#isFailing = isFailing
  }

  shutdown(): Promise<void> {
    return this.#exporter.shutdown()
  }

  async forceFlush(): Promise<void> {
    await this.#exporter.forceFlush?.()
  }
}
