import { expect, spyOn, test } from 'bun:test'
import { DiffReader, type ReadDiff } from './reader.ts'

const sha = 'a'.repeat(40)
const names = Array.from({ length: 40_000 }, (_, n) => `folder/f${String(n).padStart(6, '0')}`)
const list = [
  ...names.map((name) => `:000000 100644 ${sha} ${sha} A\t${name}\n`),
  ...names.map((name) => `1\t0\t${name}\n`),
].join('')
const patch = 'diff --git a/x b/x\n@@ -0,0 +1 @@\n+1\n'

async function read(text: string, pieceBytes: number): Promise<ReadDiff> {
  const reader = new DiffReader()
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; at += pieceBytes) reader.take(bytes.subarray(at, at + pieceBytes))
  return reader.finish(true)
}

test('parses a long list piece by piece, without joining it', async () => {
  const joined = spyOn(Buffer, 'concat')
  try {
    const { files, patch: told } = await read(`${list}\n${patch}`, 65_536)
    expect(files.map(({ path }) => path)).toEqual(names)
    expect(files.every(({ additions, status }) => additions === 1 && status === 'added')).toBe(true)
    expect(told).toBe(patch)
    const bytes = joined.mock.results.reduce((sum, { value }) => sum + (value as Buffer).length, 0)
    expect(bytes).toBe(patch.length)
  } finally {
    joined.mockRestore()
  }
})

test('finds the border between list and patch, however the output is split', async () => {
  const few = `:000000 100644 ${sha} ${sha} A\ta\n:000000 100644 ${sha} ${sha} A\tb\n1\t0\ta\n2\t0\tb\n\n${patch}`
  const whole = await read(few, few.length)
  expect(whole.files.map(({ path, additions }) => [path, additions])).toEqual([
    ['a', 1],
    ['b', 2],
  ])
  for (let pieceBytes = 1; pieceBytes < few.length; pieceBytes++) expect(await read(few, pieceBytes)).toEqual(whole)
})
