/** A gzipped tar of one program, which `tar -xzf` unpacks anywhere. */
import { createReadStream, createWriteStream } from 'node:fs'
import { rename, rm, stat } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'

const block = 512

/** Written beside its place and renamed, so that no client gets half of one. Fast rather than small: it is made during a request. */
export async function packProgram(program: string, archive: string): Promise<void> {
  const { size } = await stat(program)
  const aside = `${archive}.${process.pid}.tmp`
  try {
    await pipeline(tar(program, size), createGzip({ level: 1 }), createWriteStream(aside, { mode: 0o644 }))
    await rename(aside, archive)
  } catch (error) {
    await rm(aside, { force: true })
    throw error
  }
}

async function* tar(program: string, size: number): AsyncIterable<Uint8Array> {
  yield header('svc', size)
  yield* createReadStream(program, { highWaterMark: 1024 * 1024 })
  // Pads to the end of the block and adds the two empty blocks that end the archive.
  yield new Uint8Array(((block - (size % block)) % block) + 2 * block)
}

/** POSIX ustar; the same program gives the same bytes, whenever and by whomever it is built. */
function header(name: string, size: number): Uint8Array {
  const bytes = Buffer.alloc(block)
  const octal = (value: number, length: number) => `${value.toString(8).padStart(length - 1, '0')}\0`
  bytes.write(name, 0)
  bytes.write(octal(0o755, 8), 100)
  bytes.write(octal(0, 8), 108)
  bytes.write(octal(0, 8), 116)
  bytes.write(octal(size, 12), 124)
  bytes.write(octal(0, 12), 136)
  bytes.write(' '.repeat(8), 148)
  bytes.write('0', 156)
  bytes.write('ustar\x0000', 257)
  const sum = bytes.reduce((total, byte) => total + byte, 0)
  bytes.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
  return bytes
}
