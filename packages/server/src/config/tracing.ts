import type { Settings } from './settings.ts'

const samplers = [
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
  'always_on',
  'always_off',
  'traceidratio',
] as const

/** How traces reach a collector, by the standard names of OpenTelemetry. The SDK reads those of the service and headers itself. */
export interface TracingConfig {
  /** The whole URL. */
  url: string
  sampler: (typeof samplers)[number]
  /** The share of traces, for the samplers that take one. */
  ratio: number
  /** Values of headers, which no log may show. */
  secrets: string[]
}

export function readTracing(settings: Settings): TracingConfig | null {
  const base = settings.url('OTEL_EXPORTER_OTLP_ENDPOINT')
  const sampler = settings.choice('OTEL_TRACES_SAMPLER', samplers)
  const ratio = Number(settings.text('OTEL_TRACES_SAMPLER_ARG') ?? 1)
  if (!(ratio >= 0 && ratio <= 1)) settings.refuse('OTEL_TRACES_SAMPLER_ARG', 'must be a number from 0 to 1')
  const url = settings.url('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT') ?? (base === null ? null : `${base}/v1/traces`)
  if (url === null) return null
  const headers = ['OTEL_EXPORTER_OTLP_HEADERS', 'OTEL_EXPORTER_OTLP_TRACES_HEADERS'].flatMap((name) =>
    settings.list(name),
  )
  return { url, sampler, ratio, secrets: [...headers.flatMap(valuesOf), new URL(url).password].filter(Boolean) }
}

/** Of `name=value`, as it is written and as it is sent. */
function valuesOf(header: string): string[] {
  const value = header.slice(header.indexOf('=') + 1).trim()
  try {
    return [value, decodeURIComponent(value)]
  } catch {
    return notEncoded(value)
  }
}

const notEncoded = (value: string): string[] => [value]
