/** The programs this server offers for download: those of `npm run release` if they were made with this very program, and always its own for its own platform. */
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdir, readdir, readFile, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { Deps } from '../deps.ts'
import { packProgram } from './archive.ts'

const archiveName = /^svc(-server)?-(linux|darwin)-(x64|arm64)\.tar\.gz$/

export interface Archive {
  name: string
  path: string
  sha256: string
  bytes: number
}

type ReleaseDeps = Pick<Deps, 'config'>

export class Release {
  readonly #deps: ReleaseDeps
  #own: Promise<Archive | null> | null = null
  #hash: Promise<string> | null = null

  constructor(deps: ReleaseDeps) {
    this.#deps = deps
  }

  /** Every archive, by name. The first call makes the one of this server's own program, which takes some seconds. */
  async archives(): Promise<Archive[]> {
    const built = await this.#built()
    const own = built.some(({ name }) => name === ownName()) ? null : await this.#ownArchive()
    return [...built, ...(own === null ? [] : [own])].toSorted((a, b) => a.name.localeCompare(b.name))
  }

  async #built(): Promise<Archive[]> {
    for (const dir of this.#deps.config.releaseDirs) {
      const made = await readJson(join(dir, 'release.json'))
      if (made === null || made.program_sha256 !== (await this.#ownHash())) continue
      const names = (await readdir(dir)).filter((name) => archiveName.test(name))
      const sums = await readSums(join(dir, 'SHA256SUMS'))
      const found = names.filter((name) => sums.has(name))
      return Promise.all(
        found.map(async (name) => {
          const path = join(dir, name)
          return { name, path, sha256: sums.get(name)!, bytes: (await stat(path)).size }
        }),
      )
    }
    return []
  }

  /** A version alone is not enough: two builds of it may differ. */
  #ownHash(): Promise<string> {
    return (this.#hash ??= hashFile(process.execPath))
  }

  #ownArchive(): Promise<Archive | null> {
    this.#own ??= this.#makeOwn().catch((error: unknown) => {
      this.#own = null
      throw error
    })
    return this.#own
  }

  async #makeOwn(): Promise<Archive | null> {
    const program = process.execPath
    // From source the running program is Bun itself.
    if (!basename(program).startsWith('svc')) return null
    const dir = join(this.#deps.config.dataDir, 'release')
    await mkdir(dir, { recursive: true, mode: 0o700 })
    const path = join(dir, ownName())
    await packProgram(program, path)
    return { name: ownName(), path, sha256: await hashFile(path), bytes: (await stat(path)).size }
  }
}

async function hashFile(path: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(path)) hash.update(chunk as Uint8Array)
  return hash.digest('hex')
}

function ownName(): string {
  return `svc-${process.platform}-${process.arch}.tar.gz`
}

async function readJson(path: string): Promise<{ program_sha256?: unknown } | null> {
  const text = await readFile(path, 'utf8').catch(() => null)
  return text === null ? null : (JSON.parse(text) as { program_sha256?: unknown })
}

async function readSums(path: string): Promise<Map<string, string>> {
  const lines = (await readFile(path, 'utf8').catch(() => '')).matchAll(/^([0-9a-f]{64}) {2}(\S+)$/gm)
  return new Map([...lines].map(([, sum, name]) => [name!, sum!]))
}
