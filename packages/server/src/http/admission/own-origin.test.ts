import { expect, test } from 'bun:test'
import { isOriginOf } from './own-origin.ts'

test.each([
  // Public URL, Origin, Host, and whether the origin is the page that this host serves.
  ['http://127.0.0.1:8420', 'http://127.0.0.1:8420', '127.0.0.1:8420', true],
  ['http://127.0.0.1:8420', 'https://127.0.0.1:8420', '127.0.0.1:8420', false],
  ['http://127.0.0.1:8420', 'http://127.0.0.1:8421', '127.0.0.1:8420', false],
  ['http://127.0.0.1:8420', 'http://localhost:8420', 'localhost:8420', true],
  ['http://127.0.0.1:8420', 'http://localhost:8420', '127.0.0.1:8420', false],
  // A proxy ends TLS, so the request itself is plain http.
  ['https://svc.example', 'https://svc.example', 'svc.example', true],
  ['https://svc.example', 'http://svc.example', 'svc.example', false],
  ['https://svc.example', 'https://svc.example', 'svc.example:443', true],
  ['https://svc.example', 'https://SVC.example', 'svc.example', true],
  ['https://svc.example', 'https://svc.example:444', 'svc.example', false],
  ['https://svc.example', 'https://svc.example.evil.test', 'svc.example', false],
  // A way past the proxy, such as the operator's tunnel.
  ['https://svc.example', 'http://127.0.0.1:8420', '127.0.0.1:8420', true],
  ['https://svc.example', 'https://127.0.0.1:8420', '127.0.0.1:8420', false],
  ['http://[::1]:8420', 'http://[::1]:8420', '[::1]:8420', true],
  ['http://svc.example', 'null', 'svc.example', false],
  ['http://svc.example', '', 'svc.example', false],
  ['http://svc.example', 'http://svc.example', '', false],
] as const)('a server at %s accepts the origin %s at host %s: %s', (publicUrl, origin, host, isOwn) => {
  expect(isOriginOf(publicUrl, origin, host)).toBe(isOwn)
})
