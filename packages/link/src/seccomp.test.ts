import { expect, test } from 'bun:test'
import { join } from 'node:path'

/** `unshare` fails with EPERM, everything else passes: load the number, compare, answer. */
function refusing(call: number): Buffer {
  const program = Buffer.alloc(4 * 8)
  const instructions: [number, number, number, number][] = [
    [0x20, 0, 0, 0],
    [0x15, 0, 1, call],
    [0x06, 0, 0, 0x00050001],
    [0x06, 0, 0, 0x7fff0000],
  ]
  instructions.forEach(([code, jt, jf, k], index) => {
    program.writeUInt16LE(code, index * 8)
    program.writeUInt8(jt, index * 8 + 2)
    program.writeUInt8(jf, index * 8 + 3)
    program.writeUInt32LE(k, index * 8 + 4)
  })
  return program
}

const unshare = process.arch === 'arm64' ? 97 : 272

test.skipIf(process.platform !== 'linux')('a filter holds for the processes that follow', async () => {
  const script = `
    const { filterSystemCalls } = await import(${JSON.stringify(join(import.meta.dir, 'seccomp.ts'))})
    filterSystemCalls(Buffer.from('${refusing(unshare).toString('base64')}', 'base64'))
    const child = Bun.spawnSync(['unshare', '--user', 'true'])
    console.log(child.exitCode, child.stderr.toString(), await new Response('still works').text())`
  const ran = Bun.spawnSync([process.execPath, '--eval', script])
  expect(ran.stderr.toString()).toBe('')
  expect(ran.stdout.toString()).toMatch(/^1 unshare: .*not permitted\n still works\n$/)
})
