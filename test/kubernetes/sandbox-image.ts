/** The image of the product, as an operator writes it. */
import { join } from 'node:path'
import { program, run } from '../e2e/harness.ts'

export const sandboxImage = 'svc.test/sandbox:1'

/** Of the built program, or of another one with its agent runtime beside it. */
export async function writeSandboxImage(folder: string, name = sandboxImage, by = program): Promise<string> {
  const output = join(folder, 'sandbox.tar')
  const env = { PATH: process.env['PATH'] ?? '', HOME: folder, SVC_DATA_DIR: join(folder, 'data') }
  const ran = await run([by, 'self-host', 'image', '--output', output, '--name', name], { env })
  if (ran.code !== 0) throw new Error(ran.stderr)
  return output
}
