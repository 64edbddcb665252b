import { describe, expect, test } from 'bun:test'
import { allowsEgress, defaultEgress, egressHost, type EgressRule, parseEgressPattern } from './egress.ts'
import { bytesOf } from './quotas.ts'
import { parseManifest } from '../manifest/manifest.ts'

const rules = (...patterns: string[]): EgressRule[] =>
  patterns.flatMap((pattern) => {
    const parsed = parseEgressPattern(pattern)
    if (typeof parsed === 'string') throw new Error(`${pattern} ${parsed}`)
    return parsed
  })

describe('egress patterns', () => {
  test.each([
    ['api.example.com', 'api.example.com', 443, true],
    ['api.example.com', 'api.example.com', 80, true],
    ['api.example.com', 'api.example.com', 22, false],
    ['api.example.com', 'evil-api.example.com', 443, false],
    ['api.example.com', 'api.example.com.evil.test', 443, false],
    ['API.Example.COM', 'api.example.com', 443, true],
    ['*.example.com', 'a.example.com', 443, true],
    ['*.example.com', 'a.b.example.com', 443, true],
    ['*.example.com', 'example.com', 443, false],
    ['*.example.com', 'notexample.com', 443, false],
    ['*.example.com:8443', 'a.example.com', 8443, true],
    ['*.example.com:8443', 'a.example.com', 443, false],
    ['*', 'anything.test', 443, true],
    ['*', 'anything.test', 25, false],
    ['*:22', 'anything.test', 22, true],
    ['@packages', 'registry.npmjs.org', 443, true],
    ['@packages', 'github.com', 443, false],
    ['[2001:4860::8888]:443', '2001:4860::8888', 443, true],
  ])('the pattern %s for %s:%i allows the connection: %p', (pattern, host, port, passes) => {
    expect(allowsEgress(rules(pattern), host, port)).toBe(passes)
  })

  test('says why a pattern is invalid', () => {
    for (const pattern of ['', '@all', 'https://x.test', 'a b', 'x.test:0', 'x.test:65536', 'x.test:', '*.*.x', 'a*.x'])
      expect(parseEgressPattern(pattern), pattern).toBeString()
    for (const pattern of ['x..test', '-x.test', '127.1', '0x7f000001', '1.2.3.256', 'x.test/path', 'user@x.test'])
      expect(parseEgressPattern(pattern), pattern).toBeString()
  })
})

test('normalizes every spelling of a host', () => {
  expect(egressHost('Registry.NPMJS.org.')).toBe('registry.npmjs.org')
  expect(egressHost('[::FFFF:127.0.0.1]')).toBe('::ffff:127.0.0.1')
  for (const text of ['2130706433', '0177.0.0.1', '127.0.0.1.', 'x\0.test', 'x%2e.test', 'bücher.test', ''])
    expect(egressHost(text), text).toBe(text === '127.0.0.1.' ? '127.0.0.1' : null)
})

test('reads [sandbox] of svc.toml and names each mistake', () => {
  const good = parseManifest(
    '[sandbox]\ncpu = 0.5\nmemory = "2GiB"\ndisk = "10g"\nsetup = "npm ci"\nidle_minutes = 5\negress = ["@packages", "*.example.com:443"]\n',
  )
  expect(good.issues).toEqual([])
  expect(good.manifest.sandbox).toMatchObject({ cpu: 0.5, memory: '2GiB', egress: ['@packages', '*.example.com:443'] })
  const bad = parseManifest('[sandbox]\ncpu = 0\nmemory = "lots"\ndisk = "1k"\negress = ["https://x.test"]\n')
  expect(bad.issues.map((issue) => issue.path)).toEqual([
    'sandbox.cpu',
    'sandbox.memory',
    'sandbox.disk',
    'sandbox.egress.0',
  ])
  expect(defaultEgress).toEqual(['@packages'])
  expect(['4GiB', '512M', '1.5g', '100', 'x', '1 GB'].map(bytesOf)).toEqual([
    ...[4 * 1024 ** 3, 512 * 1024 ** 2, 1.5 * 1024 ** 3, 100, null, 1024 ** 3],
  ])
})
