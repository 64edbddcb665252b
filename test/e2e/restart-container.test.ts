/** The drill of restart.test.ts with a real engine. Without one on this machine these tests are skipped and counted. */
import { afterAll, describe, expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { processesWith } from '../../packages/sandbox/src/conformance/testing-sandboxes.ts'
import { startTestEngine } from '../../packages/sandbox/src/container/testing-engine.ts'
import { restartDrill } from './restart-drill.ts'

const engine = await startTestEngine()
const isMissing = typeof engine === 'string'
if (isMissing) console.log(`Restarts with the container driver are not tested: ${engine}`)

afterAll(async () => {
  if (!isMissing) await engine.close()
})

describe.skipIf(isMissing)('with an engine', () => {
  const { socket, close, left } = engine as Exclude<typeof engine, string>

  restartDrill(() => ({
    env: { SVC_SANDBOX_DRIVER: 'container', DOCKER_HOST: `unix://${socket}` },
    expectNothingLeft: async () => expect(await left()).toEqual([]),
  }))

  test('the engine ends without a process or a file', async () => {
    await close()
    expect(processesWith(dirname(socket))).toEqual([])
    expect(existsSync(dirname(socket))).toBe(false)
  })
})
