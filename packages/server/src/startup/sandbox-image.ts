/** `svc server --sandbox-image FILE [NAME]`: writes the image of servers and sandboxes. Prints one JSON document. */
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { writeImageArchive } from '@svc/sandbox'
import type { Config } from '../config.ts'
import { copyBundledPrograms } from '../db/embedded/programs.ts'
import { version } from '../version.ts'
import { findRuntime } from './choose-driver.ts'
import { StartupError } from './startup-error.ts'

/** The one that the chart in deploy/chart expects. */
const nameByDefault = `svc.local/svc:${version}`

export async function writeSandboxImage(
  config: Config,
  [file, name]: string[],
): Promise<{ file: string; name: string }> {
  if (file === undefined) throw new StartupError('--sandbox-image needs the name of a file.')
  if (process.platform !== 'linux') throw new StartupError('Only Linux can write the image.')
  const runtimeBinary = findRuntime(config)
  if (!existsSync(runtimeBinary))
    throw new StartupError(
      `The agent runtime is missing: ${runtimeBinary}. It comes with a server, not with the client: run this with dist/svc, or with svc-server/bin/svc of its archive.`,
    )
  const output = resolve(file)
  const reference = name ?? config.kubernetes.image ?? nameByDefault
  // Beside the archive, because temporary folders are often in memory.
  const more = await mkdtemp(join(dirname(output), '.svc-image-'))
  try {
    await copyBundledPrograms(join(more, 'usr/local'))
    await writeImageArchive({ svcBinary: process.execPath, runtimeBinary, output, reference, more })
  } finally {
    await rm(more, { recursive: true, force: true })
  }
  return { file: output, name: reference }
}
