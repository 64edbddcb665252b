import { afterEach, expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { armFailpoints, FailpointError, parseFailpoints } from './failpoint.ts'

const arm = (text: string) => {
  const points = parseFailpoints(text)
  if (typeof points === 'string') throw new Error(points)
  armFailpoints(points)
}
afterEach(() => armFailpoints([]))

test('a failpoint that is not set does nothing', async () => {
  await failpoint('test.nowhere')
})

test('a failpoint throws only at its hit', async () => {
  arm('test.here=throw@2')
  await failpoint('test.here')
  await failpoint('test.there')
  expect(failpoint('test.here')).rejects.toBeInstanceOf(FailpointError)
  await failpoint('test.here')
})

test('a failpoint without a hit acts every time', async () => {
  arm('test.here=throw,test.there=delay:1')
  for (let n = 0; n < 3; n++) expect(failpoint('test.here')).rejects.toBeInstanceOf(FailpointError)
  await failpoint('test.there')
})

test('a failpoint pauses until its file is removed', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'svc-failpoint-'))
  const file = join(dir, 'reached')
  arm(`test.here=pause:${file}@1`)
  let isPast = false
  const paused = failpoint('test.here').then(() => (isPast = true))
  expect(existsSync(file)).toBe(true)
  expect(isPast).toBe(false)
  await rm(file)
  await paused
  await rm(dir, { recursive: true })
})

test('a failpoint kills the process without cleanup', async () => {
  const file = JSON.stringify(join(import.meta.dir, 'failpoint.ts'))
  const program = `
    const { armFailpoints, parseFailpoints } = await import(${file})
    armFailpoints(parseFailpoints('test.here=kill'))
    process.on('exit', () => console.log('tidied up'))
    console.log('before')
    await failpoint('test.here')
    console.log('after')`
  const child = Bun.spawn([process.execPath, '--eval', program], { stdout: 'pipe' })
  expect(await new Response(child.stdout).text()).toBe('before\n')
  await child.exited
  expect(child.signalCode).toBe('SIGKILL')
})

test.each(['', 'x', 'merge=kill', 'merge.x=die', 'merge.x=delay', 'merge.x=delay:1s', 'merge.x=kill@0', 'a.b=pause:x'])(
  'refuses %j and says what is valid',
  (text) => expect(parseFailpoints(text)).toContain('must be a list'),
)
