import { expect, test } from 'bun:test'
import { join } from 'node:path'

test('logs an unhandled rejection in one redacted line and continues', async () => {
  const script = `
    const { logUnhandledRejections, makeLog } = await import(${JSON.stringify(join(import.meta.dir, 'log.ts'))})
    logUnhandledRejections(makeLog('json', (text) => text.replaceAll('secret-words', '[redacted]')))
    void Promise.reject(new Error('failed with secret-words'))
    setTimeout(() => process.stdout.write('alive'), 10)`
  const child = Bun.spawn([process.execPath, '-e', script], { stdout: 'pipe', stderr: 'pipe' })
  const [out, err] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
  expect(out).toBe('alive')
  const lines = err.trim().split('\n')
  expect(lines).toHaveLength(1)
  expect(JSON.parse(lines[0]!)).toMatchObject({
    level: 50,
    msg: 'unhandled rejection',
    err: { message: 'failed with [redacted]' },
  })
  expect(err).not.toContain('secret-words')
})
