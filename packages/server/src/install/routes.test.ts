/** The installer that a person pipes into a shell contains the address the operator set, whatever the request's headers. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { buildApp } from '../app.ts'
import { makeTestApp, type TestApp } from '../test-app.ts'

let app: TestApp
beforeAll(async () => {
  app = await makeTestApp()
}, 120_000)
afterAll(() => app.close())

const fetchScript = (headers: Record<string, string> = {}, path = '/install') => {
  const { publicUrl } = app.deps.config
  return buildApp(app.deps).request(publicUrl + path, { headers: { host: new URL(publicUrl).host, ...headers } })
}

describe('the install script', () => {
  test.each([
    ['host', "evil.test'; touch /tmp/x; '"],
    ['host', 'evil.test'],
    ['x-forwarded-host', 'evil.test'],
    ['x-forwarded-proto', "http'; touch /tmp/x; '"],
    ['forwarded', 'host=evil.test;proto=http'],
    ['x-original-url', '//evil.test/'],
    ['origin', 'https://evil.test'],
    ['referer', "https://evil.test/'; touch /tmp/x"],
  ])('contains nothing of the header %s: %s', async (name, value) => {
    const clean = await (await fetchScript()).text()
    const response = await fetchScript({ [name]: value })
    if (response.status === 200) expect(await response.text()).toBe(clean)
    else expect([response.status, (await response.text()).includes('#!/bin/sh')]).toEqual([403, false])
    expect(clean).toContain(`svc_origin='${app.deps.config.publicUrl}'`)
  })

  test("contains nothing of its request URL, and the operator's URL unchanged", async () => {
    const clean = await (await fetchScript()).text()
    expect(await (await fetchScript({}, "/install?x='$(touch%20/tmp/x)'")).text()).toBe(clean)
    const before = app.deps.config.publicUrl
    try {
      app.deps.config.publicUrl = `${before}/$&it's`
      const { host } = new URL(before)
      const text = await (await buildApp(app.deps).request(`${before}/install`, { headers: { host } })).text()
      expect(text).toContain(`svc_origin='${before}/$&it%27s'`)
    } finally {
      app.deps.config.publicUrl = before
    }
  })
})
