import { expect, test } from 'bun:test'
import { pathIn, urlAt } from './address.ts'

const signIn = 'http://3000--x.localhost:8420/?svc_ticket=abc'

test('keeps the path, the query and the fragment of what was typed', () => {
  expect(urlAt(signIn, '/')).toBe(signIn)
  expect(urlAt(signIn, 'users?page=2#top')).toBe('http://3000--x.localhost:8420/users?page=2&svc_ticket=abc#top')
  expect(pathIn(' http://localhost:3000/users?a=b#c ')).toBe('/users?a=b#c')
})

test.each([
  '//evil.test/x',
  '\\\\evil.test',
  'https://evil.test/x',
  'javascript:alert(1)',
  '/.//evil.test',
  '@evil.test',
  'http://',
  '/\t/evil.test',
])('never leaves the origin of the preview for %j', (typed) => {
  const { origin, searchParams } = new URL(urlAt(signIn, typed))
  expect([origin, searchParams.get('svc_ticket')]).toEqual(['http://3000--x.localhost:8420', 'abc'])
})
