/** A sandbox's egress does not reach the server's public address, where sign-in works. Nothing is dialed here. */
import { describe, expect, test } from 'bun:test'
import { networkInterfaces } from 'node:os'
import { dial, type DialPolicy } from './dial.ts'
import { exceptThisServer } from './this-server.ts'

const names: Record<string, string[]> = {
  'svc.example': ['203.0.113.10', '2001:db8::10'],
  '3000--preview.svc.example': ['203.0.113.10'],
  'rebound.test': ['203.0.113.99', '203.0.113.10'],
  'inside.test': ['10.0.0.1'],
}
const everyAddressIsPublic: DialPolicy = {
  resolve: async (name) => names[name] ?? [],
  closed: (address) => (address.startsWith('10.') ? 'a private network' : null),
}
const policyOf = (publicUrl: string) => exceptThisServer(everyAddressIsPublic, { publicUrl, port: 8420 })

describe('a sandbox that may reach every host', () => {
  test.each([
    ['svc.example', 443],
    ['svc.example', 8420],
    ['3000--preview.svc.example', 443],
    ['rebound.test', 443],
    ['203.0.113.10', 443],
    ['2001:db8::10', 443],
    ['2001:0db8:0::0010', 443],
  ])('does not reach the public address of the server: %s:%d', async (host, port) => {
    expect(await dial(policyOf('https://svc.example'), host, port)).toMatchObject({
      kind: 'closed',
      reason: expect.stringContaining('the public address of this server'),
    })
  })

  test("does not reach an address of the server's own interfaces, on any port", async () => {
    const own = Object.values(networkInterfaces()).flatMap((each) => each ?? [])
    expect(own.length).toBeGreaterThan(0)
    for (const { address } of own)
      expect(await policyOf('https://svc.example').closed(address, 22)).toMatch(/this server|private/)
  })

  test('reaches other services behind the same address', async () => {
    expect(await policyOf('https://svc.example').closed('203.0.113.10', 22)).toBeNull()
    expect(await policyOf('https://svc.example').closed('203.0.113.99', 443)).toBeNull()
    expect(await policyOf('https://svc.example').closed('10.0.0.1', 443)).toBe('a private network')
  })
})

test('protects a public URL that is an IP address or has a port', async () => {
  const closed = (publicUrl: string, port: number) => policyOf(publicUrl).closed('203.0.113.10', port)
  expect(await closed('http://203.0.113.10', 80)).toBe('the public address of this server')
  expect(await closed('http://svc.example:9000', 9000)).toBe('the public address of this server')
  expect(await closed('http://svc.example:9000', 443)).toBeNull()
  expect(await policyOf('https://[2001:db8::10]').closed('2001:db8::10', 443)).toBe('the public address of this server')
})
