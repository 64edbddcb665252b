/** Writes a bare repository by hand, so that it can hold what git itself would never write. */
import { createHash } from 'node:crypto'
import { mkdir, rename, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { deflateSync } from 'node:zlib'
import { gitIn } from '../repositories.ts'

export type Mode = '100644' | '100755' | '120000' | '160000' | '40000' | (string & {})

export interface Entry {
  mode: Mode
  name: string | Buffer
  sha: string
}

export type ObjectType = 'blob' | 'tree' | 'commit' | 'tag'

export interface CommitParts {
  tree: string
  parents?: string[]
  message?: string | Buffer
  /** The line behind `author`, and the committer's. */
  author?: string
  /** Additional header lines, each with its line feed. */
  headers?: string
}

export class HostileRepository {
  readonly dir: string
  /** A program that leaves a mark when it runs. Its path has no space. */
  readonly canary: string
  /** An address that counts its visitors. */
  readonly bait: string

  constructor(dir: string, bait: { canary: string; address: string }) {
    this.dir = dir
    this.canary = bait.canary
    this.bait = bait.address
  }

  async init(): Promise<void> {
    await mkdir(this.dir, { recursive: true })
    await gitIn(this.dir, ['init', '--quiet', '--bare', '--template=', '--initial-branch=main', this.dir])
  }

  git(args: string[], input = ''): Promise<string> {
    return gitIn(this.dir, args, input)
  }

  /** Stored as given, whatever it contains. */
  async object(type: ObjectType, body: Buffer): Promise<string> {
    const whole = Buffer.concat([Buffer.from(`${type} ${body.length}\0`), body])
    const sha = createHash('sha1').update(whole).digest('hex')
    await this.looseFile(sha, deflateSync(whole, { level: 1 }))
    return sha
  }

  /** Writes an object file with arbitrary bytes. */
  async looseFile(sha: string, bytes: Buffer): Promise<void> {
    const path = join(this.dir, 'objects', sha.slice(0, 2), sha.slice(2))
    await mkdir(dirname(path), { recursive: true })
    const temporary = `${path}.new`
    await writeFile(temporary, bytes)
    await rename(temporary, path)
  }

  blob(content: string | Buffer): Promise<string> {
    return this.object('blob', Buffer.from(content as string))
  }

  /** Entries in the given order, sorted or not, with or without duplicates. */
  tree(entries: Entry[]): Promise<string> {
    const parts = entries.flatMap(({ mode, name, sha }) => [
      Buffer.from(`${mode} `),
      Buffer.from(name as string),
      Buffer.of(0),
      Buffer.from(sha, 'hex'),
    ])
    return this.object('tree', Buffer.concat(parts))
  }

  /** Files by name, sorted as git requires. */
  async files(contents: Record<string, string | Buffer>): Promise<string> {
    const entries: Entry[] = []
    for (const name of Object.keys(contents).toSorted())
      entries.push({ mode: '100644', name, sha: await this.blob(contents[name]!) })
    return this.tree(entries)
  }

  commit(parts: CommitParts): Promise<string> {
    const who = parts.author ?? 'Mallory <mallory@example.test> 1700000000 +0000'
    const head = [
      `tree ${parts.tree}\n`,
      ...(parts.parents ?? []).map((parent) => `parent ${parent}\n`),
      `author ${who}\ncommitter ${who}\n`,
      parts.headers ?? '',
      '\n',
    ]
    return this.object(
      'commit',
      Buffer.concat([Buffer.from(head.join('')), Buffer.from((parts.message ?? 'm\n') as string)]),
    )
  }

  async ref(name: string, sha: string): Promise<void> {
    const path = join(this.dir, name)
    await mkdir(dirname(path), { recursive: true })
    await writeFile(path, `${sha}\n`)
  }

  async branches(main: string, work: string): Promise<void> {
    await this.ref('refs/heads/main', main)
    await this.ref('refs/heads/work', work)
  }

  /** A file inside the git folder itself. */
  async place(path: string, content: string): Promise<void> {
    await mkdir(dirname(join(this.dir, path)), { recursive: true })
    await writeFile(join(this.dir, path), content)
  }

  /** The usual shape: `main` with one harmless file, and `work` above it with this tree. */
  async mainAndWork(work: string, base?: string): Promise<{ main: string; work: string }> {
    const main = await this.commit({ tree: base ?? (await this.files({ 'README.md': 'hello\n' })) })
    const head = await this.commit({ tree: work, parents: [main] })
    await this.branches(main, head)
    return { main, work: head }
  }

  /** Both sides change what `base` contains, so that the contents have to be merged. */
  async threeWay(base: string, ours: string, theirs: string): Promise<void> {
    const root = await this.commit({ tree: base })
    const side = (tree: string) => this.commit({ tree, parents: [root] })
    await this.branches(await side(ours), await side(theirs))
  }

  /** A stream for `git fast-import`, in chunks, for large but well-formed data. */
  async import(chunks: Iterable<string>): Promise<void> {
    const command = ['git', `--git-dir=${this.dir}`, 'fast-import', '--quiet', '--force']
    const child = Bun.spawn(command, { stdin: 'pipe', stdout: 'ignore', stderr: 'pipe' })
    for (const chunk of chunks) {
      await child.stdin.write(chunk)
      await child.stdin.flush()
    }
    await child.stdin.end()
    if ((await child.exited) !== 0) throw new Error(await new Response(child.stderr).text())
  }
}

/** Numbers as a pack stores them: seven bits per byte, lowest first. */
function varint(value: number): Buffer {
  const bytes: number[] = []
  let left = value
  do {
    const byte = left % 128
    left = Math.floor(left / 128)
    bytes.push(left > 0 ? byte | 0x80 : byte)
  } while (left > 0)
  return Buffer.from(bytes)
}

/** A delta that repeats its base of `size` bytes as often as wanted. */
export function repeatingDelta(size: number, times: number): Buffer {
  const copies: Buffer[] = []
  for (let n = 0; n < times; n++)
    for (let offset = 0; offset < size; offset += 0xffffff) {
      const length = Math.min(0xffffff, size - offset)
      const at = Buffer.alloc(8)
      at[0] = 0xff
      at.writeUInt32LE(offset, 1)
      at.writeUIntLE(length, 5, 3)
      copies.push(at)
    }
  return Buffer.concat([varint(size), varint(size * times), ...copies])
}

const packTypes = { commit: 1, tree: 2, blob: 3, tag: 4, 'ref-delta': 7 } as const

export interface PackEntry {
  type: keyof typeof packTypes
  body: Buffer
  /** The id of a delta's base. */
  base?: string
}

export function packOf(entries: PackEntry[]): Buffer {
  const header = Buffer.alloc(12)
  header.write('PACK')
  header.writeUInt32BE(2, 4)
  header.writeUInt32BE(entries.length, 8)
  const parts = [header]
  for (const { type, body, base } of entries) {
    let rest = Math.floor(body.length / 16)
    const head = [(packTypes[type] << 4) | (body.length % 16)]
    while (rest > 0) {
      head[head.length - 1]! |= 0x80
      head.push(rest % 128)
      rest = Math.floor(rest / 128)
    }
    parts.push(Buffer.from(head), ...(base === undefined ? [] : [Buffer.from(base, 'hex')]), deflateSync(body))
  }
  const whole = Buffer.concat(parts)
  return Buffer.concat([whole, createHash('sha1').update(whole).digest()])
}
