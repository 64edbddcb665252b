import { expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ServiceError } from '@svc/contract'
import { until } from '../testing-until.ts'
import { answerOf, withinTime } from './within-limits.ts'

test('a pause of the server does not count: work that ended in it is not late', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'svc-paused-'))
  const [started, finished] = [join(dir, 'started'), join(dir, 'finished')]
  // Its work is over when the file is there, which it sees only once it runs again.
  const script = `
    const { existsSync, writeFileSync } = await import('node:fs')
    const { withinTime } = await import('${join(import.meta.dir, 'within-limits.ts')}')
    const work = new Promise((resolve) => {
      setInterval(() => existsSync('${finished}') && resolve('done'), 20).unref()
    })
    writeFileSync('${started}', '')
    console.log(await withinTime(new AbortController().signal, () => work, { spentMs: 7_000 }))`
  const paused = Bun.spawn([process.execPath, '-e', script], { stdout: 'pipe', stderr: 'pipe' })
  try {
    await until('the work to start', () => existsSync(started))
    process.kill(paused.pid, 'SIGSTOP')
    const stoppedAt = performance.now()
    await until('its timer to be late', () => performance.now() - stoppedAt > 5_000)
    await writeFile(finished, '')
    process.kill(paused.pid, 'SIGCONT')
    const printed = [await new Response(paused.stdout).text(), await new Response(paused.stderr).text()]
    expect(printed).toEqual(['done\n', ''])
  } finally {
    paused.kill('SIGKILL')
    await rm(dir, { recursive: true, force: true })
  }
})

test('an answer that waited for its turn for most of its time may be requested again; costly content may not', async () => {
  const late = (spentMs: number) =>
    withinTime(
      new AbortController().signal,
      async (signal) => {
        // The commits are there.
        answerOf(signal)!.late = null
        await new Promise(() => {})
      },
      { spentMs },
    ).catch((error: unknown) => (error as ServiceError).code)
  expect(await Promise.all([late(60_000), late(6_900)])).toEqual(['unavailable', 'unprocessable'])
})
