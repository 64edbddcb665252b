/** The image of the product, from the built program. */
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { writeImageArchive } from '../../packages/sandbox/src/container/image-archive.ts'

export const sandboxImage = 'svc.test/sandbox:1'

export async function writeSandboxImage(folder: string): Promise<string> {
  const root = resolve(import.meta.dir, '../..')
  const architecture = process.arch === 'arm64' ? 'arm64' : 'x64'
  const installed = join(root, `node_modules/opencode-linux-${architecture}/bin/opencode`)
  const output = join(folder, 'sandbox.tar')
  await writeImageArchive({
    svcBinary: join(root, 'dist/svc'),
    runtimeBinary: existsSync(installed) ? installed : '/usr/local/bin/opencode',
    output,
    reference: sandboxImage,
  })
  return output
}
