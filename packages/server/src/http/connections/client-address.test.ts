import { describe, expect, test } from 'bun:test'
import { ConfigError, parseConfig } from '../../config.ts'
import { resolveAddress } from './client-address.ts'

const networkOf = (env: Record<string, string>) => parseConfig(env).network
const behind = (proxies: string, header = 'x-forwarded-for') =>
  networkOf({ SVC_TRUSTED_PROXIES: proxies, SVC_FORWARDED_HEADER: header })
const xff = (...values: string[]) => values.flatMap((value) => ['X-Forwarded-For', value])

describe('the client address', () => {
  test('is the address of the peer without trusted proxies, whatever the headers have', () => {
    const network = networkOf({})
    const claims = [...xff('198.51.100.9'), 'Forwarded', 'for=198.51.100.9', 'X-Real-IP', '198.51.100.9']
    for (const peer of ['127.0.0.1', '203.0.113.4', '::1']) expect(resolveAddress(network, peer, claims)).toBe(peer)
  })

  test.each([
    // The header as the server receives it, and the client it names.
    [xff('198.51.100.9'), '198.51.100.9'],
    // A client that writes the header itself: the proxy appends what it saw.
    [xff('127.0.0.1, 10.0.0.1, 198.51.100.9'), '198.51.100.9'],
    [xff('1.1.1.1', '198.51.100.9'), '198.51.100.9'],
    [xff('198.51.100.9, 10.1.2.3'), '198.51.100.9'],
    [xff('198.51.100.9:4711'), '198.51.100.9'],
    [xff('[2001:db8::7]:4711'), '2001:db8::7'],
    [xff('2001:DB8::7'), '2001:db8::7'],
    [xff('::ffff:198.51.100.9'), '198.51.100.9'],
    [xff('10.1.2.3'), '10.1.2.3'],
    [xff('198.51.100.9, unknown'), '127.0.0.1'],
    [xff('198.51.100.9, ]garbage['), '127.0.0.1'],
    [xff(''), '127.0.0.1'],
    [xff(`${'1.1.1.1,'.repeat(2000)}198.51.100.9`), '127.0.0.1'],
    [[], '127.0.0.1'],
    // The header that is not configured is the client's own claim.
    [['Forwarded', 'for=198.51.100.9'], '127.0.0.1'],
  ] as [string[], string][])('is read from X-Forwarded-For behind a trusted proxy: %j', (headers, address) => {
    expect(resolveAddress(behind('loopback, 10.0.0.0/8'), '127.0.0.1', headers)).toBe(address)
  })

  test.each([
    ['for=198.51.100.9;proto=https', '198.51.100.9'],
    ['for=1.1.1.1, for="[2001:db8::7]:47"', '2001:db8::7'],
    ['for=198.51.100.9, for=10.1.2.3;by=10.0.0.1', '198.51.100.9'],
    ['for=1.1.1.1, for=unknown', '127.0.0.1'],
    ['for=1.1.1.1, for=_hidden', '127.0.0.1'],
    ['for="1.1.1.1', '127.0.0.1'],
    ['proto=https', '127.0.0.1'],
  ])('is read from Forwarded behind a trusted proxy: %s', (value, address) => {
    const headers = ['Forwarded', value, ...xff('198.51.100.200')]
    expect(resolveAddress(behind('loopback,10.0.0.0/8', 'Forwarded'), '127.0.0.1', headers)).toBe(address)
  })

  test('ignores the headers of a peer that is no trusted proxy', () => {
    for (const peer of ['203.0.113.4', '11.0.0.1', '::ffff:203.0.113.4'])
      expect(resolveAddress(behind('10.0.0.0/8'), peer, xff('198.51.100.9'))).toBe(peer.replace('::ffff:', ''))
    expect(resolveAddress(behind('10.0.0.0/8'), '::ffff:10.0.0.5', xff('198.51.100.9'))).toBe('198.51.100.9')
    expect(resolveAddress(behind('2001:db8::/32'), '2001:db8::1', xff('198.51.100.9'))).toBe('198.51.100.9')
  })
})

test.each(['10.0.0.0/33', 'proxy.example', '10.0.0.0/8;11.0.0.0/8', '*'])('refuses SVC_TRUSTED_PROXIES=%s', (text) => {
  expect(() => networkOf({ SVC_TRUSTED_PROXIES: text })).toThrow(ConfigError)
  expect(() => networkOf({ SVC_FORWARDED_HEADER: 'x-real-ip' })).toThrow(/SVC_FORWARDED_HEADER/)
})
