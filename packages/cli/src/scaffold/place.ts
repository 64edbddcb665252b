/** Writes into a project: only missing files, and never through a symlink that leads out of it. */
import { lstat, mkdir, readFile, writeFile, appendFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Refusal } from '../errors.ts'

export type Placed = 'created' | 'kept'

export async function placeFile(top: string, path: string, text: string): Promise<Placed> {
  await makeFolders(top, dirname(path))
  try {
    await writeFile(join(top, path), text, { flag: 'wx' })
    return 'created'
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return 'kept'
    throw cannotWrite(join(top, path), error)
  }
}

/** Appends to a file once; `mark` shows that it is done. */
export async function extendFile(top: string, path: string, mark: string, text: string): Promise<Placed> {
  const file = join(top, path)
  const found = await lstat(file).catch(() => null)
  if (found === null) return placeFile(top, path, text.trimStart())
  if (!found.isFile()) return 'kept'
  const before = await readFile(file, 'utf8')
  if (before.includes(mark)) return 'kept'
  await appendFile(file, `${before.endsWith('\n') || before === '' ? '' : '\n'}${text}`)
  return 'created'
}

async function makeFolders(top: string, path: string): Promise<void> {
  let folder = top
  for (const part of path.split('/').filter((part) => part !== '.')) {
    folder = join(folder, part)
    await mkdir(folder).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw cannotWrite(folder, error)
    })
    if (!(await lstat(folder)).isDirectory())
      throw new Refusal('link_broken', `${folder} is not a folder`, { hint: 'svc does not write through it.' })
  }
}

function cannotWrite(path: string, cause: unknown): Refusal {
  return new Refusal('not_available', `${path} can't be written`, { hint: (cause as Error).message, cause })
}
