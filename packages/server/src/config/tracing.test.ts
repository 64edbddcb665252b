import { expect, test } from 'bun:test'
import { ConfigError, operatorSecrets, parseConfig } from '../config.ts'

const of = (env: Record<string, string>) => parseConfig(env).tracing
const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318/' }

test('there are no traces without a collector, whatever else is set', () => {
  expect(of({ OTEL_SERVICE_NAME: 'svc', OTEL_TRACES_SAMPLER: 'always_on' })).toBeNull()
})

test('the URL for traces counts more than the one for everything, to which a path is added', () => {
  expect(of(endpoint)?.url).toBe('http://127.0.0.1:4318/v1/traces')
  expect(of({ ...endpoint, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://c.example/otlp' })?.url).toBe(
    'https://c.example/otlp',
  )
})

test('refuses a sampler that does not exist and a share that is none', () => {
  for (const bad of [
    { OTEL_TRACES_SAMPLER: 'jaeger_remote' },
    { OTEL_TRACES_SAMPLER_ARG: '2' },
    { OTEL_TRACES_SAMPLER_ARG: 'half' },
    { OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4317' },
  ])
    expect(() => parseConfig(bad)).toThrow(ConfigError)
})

test('the log redacts the headers of the collector, as they are written and as they are sent', () => {
  const config = parseConfig({
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://user:hunter22@127.0.0.1:4318',
    OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Basic%20aHVudGVyMg==,x-key=hunter2222',
  })
  expect(Object.values(operatorSecrets(config))).toEqual(
    expect.arrayContaining(['Basic%20aHVudGVyMg==', 'Basic aHVudGVyMg==', 'hunter2222', 'hunter22']),
  )
})
