import { expect, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { directBytes, NewFile } from './new-file.ts'

async function written(...sizes: number[]) {
  const dir = await mkdtemp(join(tmpdir(), 'svc-new-file-'))
  try {
    const path = join(dir, 'file')
    const parts = sizes.map((size) => new Uint8Array(randomBytes(size)))
    const file = await NewFile.open(path)
    for (const part of parts) await file.write(part)
    await file.sync()
    await file.close()
    return { found: Buffer.from(await Bun.file(path).arrayBuffer()), wanted: Buffer.concat(parts) }
  } finally {
    await rm(dir, { recursive: true })
  }
}

test('a file has what was written: nothing, little, whole parts and a rest', async () => {
  for (const sizes of [[], [0], [5], [directBytes], [directBytes, directBytes, 77]]) {
    const { found, wanted } = await written(...sizes)
    expect(found.equals(wanted)).toBe(true)
  }
})

test('parts that a disk does not take past the cache go through it', async () => {
  const { found, wanted } = await written(100, directBytes, directBytes, directBytes, directBytes, directBytes)
  expect(found.equals(wanted)).toBe(true)
})
